"""The definition of an advance reservation, and its target: which nodes, and how much.

A reservation asks for named nodes, for all nodes of a domain (one label, such as `rack: r1`), or for a number of tasks
of a given size, anywhere or within a domain. Without `resources` it asks for whole nodes. `tenant` is the namespace
that may use the capacity; without one no work may, as for maintenance. The engine decides whether it can be met.
"""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.model.resources import SLOTS, Amounts, ResourceRequest
from dovetail.model.text.moment import NOW, LastField, MomentField
from dovetail.model.text.quantity import Count, Duration, format_duration
from dovetail.model.text.strict import AtField, Name, NodeName, Strict, shared
from dovetail.model.workloads.selection import Labels

MAX_NODES = 1000
MAX_TASKS = 100_000
MIN_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where to hold how much. `amounts`: of each node, or of each of `count` tasks; None: whole nodes."""

    nodes: tuple[str, ...] = ()
    domain: tuple[str, str] | None = None
    count: int = 0
    amounts: Amounts | None = None
    selector: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> str:
        found = {name: value for name, value in asdict(self).items() if value}
        return json.dumps(found, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "Target":
        found = json.loads(text)
        return Target(
            nodes=tuple(found.get("nodes", ())),
            domain=tuple(found["domain"]) if "domain" in found else None,
            count=found.get("count", 0),
            amounts=found.get("amounts"),
            selector=tuple(map(tuple, found.get("selector", ()))),
        )


class Reservation(Strict):
    """An advance reservation. `until`: the last time at which a recurring one may start a window."""

    node: NodeName | None = None
    nodes: Annotated[list[NodeName], Field(max_length=MAX_NODES)] = shared([])
    domain: Labels = shared({})
    count: Annotated[Count, Field(ge=1, le=MAX_TASKS)] | None = None
    node_selector: Labels = shared({})
    resources: ResourceRequest | None = None
    start: MomentField = Field(default=NOW, json_schema_extra={"default": "now"})
    duration: Annotated[Duration, Field(gt=0)]
    every: Annotated[Duration, Field(ge=MIN_EVERY_S)] | None = None
    until: LastField | None = None
    tenant: Name | None = None
    holder: Annotated[str, Field(max_length=200)] = ""

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.node is not None and self.nodes:
            raise AtField(("nodes",), "cannot be combined with node; name all nodes here")
        named = self.node is not None or bool(self.nodes)
        if named and self.domain:
            raise AtField(("domain",), "cannot be combined with node or nodes; give one of them")
        if named and self.count is not None:
            raise AtField(("count",), "can be combined with domain or node_selector, not with node or nodes")
        if not named and not self.domain and self.count is None:
            raise ValueError("names no nodes; give node or nodes, or domain (such as rack: r1), or count and resources")
        if len(set(self.nodes)) != len(self.nodes):
            raise AtField(("nodes",), "names a node twice")
        if len(self.domain) > 1:
            raise AtField(("domain",), f"has {len(self.domain)} levels; give one, such as rack: r1")
        if self.node_selector and self.count is None:
            raise AtField(("node_selector",), "requires count; for all nodes with a label write domain")
        return self

    @model_validator(mode="after")
    def _check_amounts(self) -> Self:
        if self.resources is not None and not set(self.resources.amounts()) - {SLOTS}:
            raise AtField(("resources",), "is empty; say how much to hold, such as cpu: 4")
        if self.count is not None and self.resources is None:
            raise AtField(("resources",), "is missing; say what each of the tasks takes, such as cpu: 4")
        for name in ("gpu_model", "gpu_memory", "gpu_island"):
            if self.resources is not None and getattr(self.resources, name):
                words = "cannot be reserved: amounts are held, not single GPUs; choose the nodes by label instead"
                raise AtField(("resources", name), words)
        return self

    @model_validator(mode="after")
    def _check_windows(self) -> Self:
        if self.every is not None and self.every < self.duration:
            lasts = format_duration(self.duration)
            raise AtField(("every",), f"is shorter than duration: it lasts {lasts}, so it recurs every {lasts} at most")
        if self.until is not None and self.every is None:
            raise AtField(("until",), "requires every; a single window ends after duration")
        return self

    def target(self) -> Target:
        names = [self.node] if self.node is not None else self.nodes
        return Target(
            nodes=tuple(names),
            domain=next(iter(self.domain.items()), None),
            count=self.count or 0,
            amounts=self._amounts(),
            selector=tuple(sorted(self.node_selector.items())),
        )

    def _amounts(self) -> Amounts | None:
        """With a count, each task takes a slot. Otherwise the number of tasks is unknown, and so are the slots."""
        if self.resources is None:
            return None
        found = self.resources.amounts()
        return found if self.count is not None else {name: amount for name, amount in found.items() if name != SLOTS}
