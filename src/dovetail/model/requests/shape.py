"""Shape: everything about a task that placement looks at, and nothing else.

Tasks of equal shape are interchangeable for the scheduler, so one evaluation serves thousands of them.
Guarantees: a shape is hashable, and `to_json` and `from_json` are inverse, so a restart needs no other definition. A
field is named once, in the class: the hash and both directions of the JSON follow from its name, type and default.
Shapes that were stored before a field was added get its default.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from dovetail.model.requests.asks import (
    AffinityRule,
    ConstraintAsk,
    GpuAsk,
    Insisted,
    Layout,
    MarketAsk,
    SpreadRule,
    Term,
    Tolerance,
    WeightedMatch,
    gpus_in,
)
from dovetail.model.requests.pod_ask import PodAsk
from dovetail.model.resources import GPU
from dovetail.model.workloads.workload import WorkloadKind

Decoder = Callable[[Any], Any]
_STORED_AS = "stored as"  # the name of a field in JSON, where an earlier version called it otherwise


@dataclass(frozen=True, slots=True)
class Shape:
    amounts: tuple[tuple[str, int], ...]
    kind: WorkloadKind
    scheduler: str
    profile: str
    namespace: str
    service: str | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    required: tuple[Term, ...] = ()
    preferred: tuple[WeightedMatch, ...] = ()
    avoided: tuple[WeightedMatch, ...] = ()
    tolerations: tuple[Tolerance, ...] = ()
    backends: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    insisted: tuple[Insisted, ...] = ()
    wants: tuple[ConstraintAsk, ...] = ()
    workload_affinity: tuple[AffinityRule, ...] = field(default=(), metadata={_STORED_AS: "company"})
    spread: tuple[SpreadRule, ...] = ()
    traffic: tuple[tuple[str, int], ...] = ()  # workloads it talks to, by name, and how much in Mbps
    layout: Layout | None = None
    gpus: GpuAsk | None = None  # None only if it asks for no GPU
    image: str = ""  # only where its profile looks at which node has it
    kubernetes: PodAsk | None = None  # what only Kubernetes has; of pods alone
    market: MarketAsk | None = None  # only where it says what it prefers among places that could run it
    digest: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        if self.gpus is None:
            object.__setattr__(self, "gpus", gpus_in(next((a for name, a in self.amounts if name == GPU), 0)))
        # Shapes are dictionary keys on the hottest path: hash the long tuples once, not at every lookup.
        object.__setattr__(self, "digest", hash(_compared(self)))

    @property
    def service_key(self) -> tuple[str, str] | None:
        """Namespace and name of the service its tasks count for."""
        return None if self.service is None else (self.namespace, self.service)

    @property
    def node_kind(self) -> object:
        """Equal for shapes that the same nodes suit, by what is asked of a single node."""
        return self.amounts, self.profile, self.node_selector, self.required, self.gpus

    @property
    def bandwidth_mbps(self) -> int:
        """What each of its tasks must be able to send to the others of its gang; 0: nothing is said of it."""
        return 0 if self.layout is None else self.layout.bandwidth_mbps

    def __hash__(self) -> int:
        return self.digest

    def to_json(self) -> str:
        found = {name: value for name, value in zip(_STORED, _compared(self), strict=True) if value or name in _ALWAYS}
        found["amounts"] = dict(self.amounts)
        return json.dumps(found, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "Shape":
        decoders, stored = _decoders(), json.loads(text)
        return Shape(**{name: decode(stored[key]) for key, (name, decode) in decoders.items() if key in stored})

    @property
    def insists(self) -> bool:
        """Some wish is a demand until nothing fits."""
        return bool(self.insisted) or any(want.priority is not None for want in self.wants)

    def relaxed(self) -> "tuple[Shape, tuple[str, ...]]":
        """Without insisting on the wishes of the lowest priority number, and which those were."""
        lowest = min([w.priority for w in self.insisted] + [w.priority for w in self.wants if w.priority is not None])
        terms = [" and ".join(map(str, wish.term)) for wish in self.insisted if wish.priority == lowest]
        texts = [want.text for want in self.wants if want.priority == lowest]
        relaxed = replace(
            self,
            insisted=tuple(wish for wish in self.insisted if wish.priority != lowest),
            wants=tuple(w._replace(priority=None) if w.priority == lowest else w for w in self.wants),
        )
        return relaxed, (*terms, *texts)

    @property
    def least(self) -> "Shape":
        """What it cannot do without: nothing is insisted on that is a wish."""
        if not self.insists:
            return self
        return replace(self, insisted=(), wants=tuple(w._replace(priority=None) for w in self.wants))


_NAMES = tuple([one.name for one in fields(Shape) if one.init])
_STORED = tuple([one.metadata.get(_STORED_AS, one.name) for one in fields(Shape) if one.init])
_ALWAYS = frozenset([one.name for one in fields(Shape) if one.init and one.default is MISSING])
_compared = attrgetter(*_NAMES)


@cache
def _decoders() -> dict[str, tuple[str, Decoder]]:
    """By the name that a field is stored under."""
    hints = get_type_hints(Shape)
    return {stored: (name, _decoder(hints[name])) for stored, name in zip(_STORED, _NAMES, strict=True)}


@cache
def _decoder(of: Any) -> Decoder:
    """The inverse of writing a value of this type as JSON: text, numbers, bools, enums, tuples, named tuples, or None.
    A tuple of pairs may have been written as an object. Fields at the end of a named tuple may be missing, as in what
    was written before they were added; they get their defaults."""
    parts = get_args(of)
    if get_origin(of) is tuple:
        if parts[-1] is Ellipsis:
            return _of_many(_decoder(parts[0]))
        return _of_fields(_together, [_decoder(part) for part in parts])
    if parts:  # something or None
        (given,) = [_decoder(part) for part in parts if part is not NoneType]
        return lambda value: None if value is None else given(value)
    if issubclass(of, tuple):
        hints = get_type_hints(of)
        return _of_fields(of, [_decoder(hints[name]) for name in hints])
    return of if issubclass(of, Enum) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _of_many(each: Decoder) -> Decoder:
    if each is _as_it_is:
        return tuple
    return lambda values: tuple([each(one) for one in (values.items() if isinstance(values, dict) else values)])


def _of_fields(make: Callable[..., Any], decoders: list[Decoder]) -> Decoder:
    if all(each is _as_it_is for each in decoders):
        return tuple if make is _together else lambda values: make(*values)
    return lambda values: make(*[each(one) for each, one in zip(decoders, values, strict=False)])
