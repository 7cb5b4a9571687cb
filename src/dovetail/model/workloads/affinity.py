"""Relations between workloads: affinity, anti-affinity, spread, conflicts, and traffic that was declared before any was
measured."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dovetail.model.text.quantity import MAX_MBPS, Count, parse_bandwidth_mbps
from dovetail.model.text.strict import AtField, Name, Strict, shared, shown, text_format
from dovetail.model.workloads.constraint import Weight
from dovetail.model.workloads.selection import LabelMatch, Labels

HOST, REGION = "host", "region"
_LEVEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_-]{0,252}")


def _check_level(value: str) -> str:
    if not _LEVEL.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a level; give a node label such as zone, rack or leaf, or host")
    return value


def _as_peers(value: Any) -> Any:
    """A bare name means the workload of that name in the same namespace."""
    return {"workload": value} if isinstance(value, str) else value


Level = Annotated[str, AfterValidator(_check_level), text_format("level", least=1, most=253)]
Distance = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class Peers(Strict):
    """A selector of tasks: by workload, service or labels. In the same namespace unless others are named (`*`: all)."""

    workload: Name | None = None
    service: Name | None = None
    labels: Labels = shared({})
    match: Annotated[list[LabelMatch], Field(max_length=20)] = shared([])
    namespaces: Annotated[list[Name | Annotated[str, Field(pattern=r"^\*$")]], Field(max_length=100)] = shared([])

    @model_validator(mode="after")
    def _check_selector(self) -> Self:
        if not (self.workload or self.service or self.labels or self.match):
            raise ValueError("selects no tasks; give workload, service, labels or match")
        return self


PeerSelector = Annotated[Peers, BeforeValidator(_as_peers, json_schema_input_type=Peers | Name)]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


PeerSelectors = Annotated[
    list[PeerSelector],
    BeforeValidator(_as_list, json_schema_input_type=list[PeerSelector] | PeerSelector),
    Field(min_length=1, max_length=20),
]


class Affinity(Strict):
    """Affinity (near) or anti-affinity (apart) to other work. With `within` a level (zone, rack, leaf, host…) or a
    distance it is required; with a weight it is a preference. `near` alone prefers the closest nodes."""

    near: PeerSelector | None = None
    apart: PeerSelector | None = None
    within: Level | None = None
    distance: Distance | None = None
    weight: Weight | None = None
    in_same_region: PeerSelectors | None = None
    in_different_regions: PeerSelectors | None = None
    in_n_regions: PeerSelectors | None = None
    n: Annotated[Count, Field(ge=1, le=1000)] | None = None

    @model_validator(mode="after")
    def _check_relation(self) -> Self:
        relations = ("near", "apart", "in_same_region", "in_different_regions", "in_n_regions")
        given = [name for name in relations if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of {', '.join(relations)}; got {' and '.join(given) or 'none'}")
        if self.within is not None and self.distance is not None:
            raise AtField(("distance",), "cannot be combined with within: give one of them")
        if given[0].startswith("in_") and self.distance is not None:
            raise AtField(("distance",), f"does not go with {given[0]}")
        if (self.in_n_regions is None) != (self.n is None):
            raise AtField(("n",), "requires in_n_regions: the number of regions")
        plain_near = self.near is not None and self.within is None and self.distance is None
        if plain_near and self.near is not None and (self.near.workload is None or self.near.namespaces):
            raise AtField(("near",), "by labels or service, or in other namespaces, needs within or distance")
        if plain_near and self.weight is not None:
            raise AtField(("weight",), "needs within or distance: near alone is weighed by the profile")
        return self


class Spread(Strict):
    """Spread tasks evenly over the domains of a level, up to `max_skew`; with a weight it is a preference. It counts
    the workload's own tasks, or those selected by `of`."""

    over: Level
    max_skew: Annotated[Count, Field(ge=1)] = 1
    min_domains: Annotated[Count, Field(ge=1)] | None = None
    of: PeerSelector | None = None
    weight: Weight | None = None


class ConflictSet(Strict):
    """Members of a set never share a domain with another workload of the set."""

    set: Name
    within: Level = HOST


def as_conflict(value: Any) -> Any:
    """A bare name means the set of that name, on the level host."""
    return {"set": value} if isinstance(value, str) else value


ConflictField = Annotated[ConflictSet, BeforeValidator(as_conflict, json_schema_input_type=ConflictSet | Name)]


def _as_mbps(value: object) -> int:
    """A plain number is in Mbps, as the field name says; a unit overrides that."""
    if isinstance(value, str) and not value.strip().replace(".", "", 1).isdigit():
        return parse_bandwidth_mbps(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{shown(value)} is not a rate; write megabits a second (4000) or a bandwidth such as 4Gbps")
    number = float(value)
    if not 0.5 <= number <= MAX_MBPS:
        raise ValueError(f"{shown(value)} is not between 1 and {MAX_MBPS:.0f} megabits a second")
    return round(number)


class Traffic(Strict):
    """The total traffic with another workload of the same namespace, both directions together."""

    to: Name
    mbps: Annotated[int, Field(ge=1, le=MAX_MBPS), BeforeValidator(_as_mbps)]
