"""Shape: everything about a task that placement looks at, and nothing else.

Tasks of equal shape are interchangeable for the scheduler, which is what lets one evaluation serve thousands of
them. A shape is hashable, and `to_json`/`from_json` are inverse, so that a restart needs no other definition.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from dovetail.model.selection import (
    Effect,
    LabelMatch,
    NodeTerm,
    Operator,
    Taint,
    TolerationOperator,
    WeightedTerm,
)
from dovetail.model.workload import Kind, Workload


class Match(NamedTuple):
    """One comparison of a label, in hashable form."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        if self.operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
            return f"{self.key} {self.operator}"
        return f"{self.key} {self.operator} {', '.join(self.values)}"


Term = tuple[Match, ...]
_OPTIONAL = (
    *("service", "node_selector", "required", "preferred", "avoided", "tolerations", "backends", "near", "insisted"),
)


class Tolerance(NamedTuple):
    """A toleration as placement sees it, cheap to compare: which taints it makes up for."""

    key: str | None
    operator: TolerationOperator
    value: str
    effect: Effect | None
    seconds: float | None = None  # how long a NoExecute taint is borne; None: for ever

    def tolerates(self, taint: Taint) -> bool:
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key is not None and self.key != taint.key:
            return False
        return self.operator is TolerationOperator.EXISTS or self.value == taint.value


class Insisted(NamedTuple):
    """A wish that is a demand until nothing fits; the highest priority number is given up first."""

    priority: int
    term: Term


class Weighted(NamedTuple):
    weight: int
    term: Term


@dataclass(frozen=True, slots=True)
class Shape:
    amounts: tuple[tuple[str, int], ...]
    kind: Kind
    scheduler: str
    profile: str
    namespace: str
    service: str | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    required: tuple[Term, ...] = ()
    preferred: tuple[Weighted, ...] = ()
    avoided: tuple[Weighted, ...] = ()
    tolerations: tuple[Tolerance, ...] = ()
    backends: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    insisted: tuple[Insisted, ...] = ()
    digest: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # Shapes are dictionary keys on the hottest path: hash the long tuples once, not at every lookup.
        whole = (
            self.amounts,
            self.kind,
            self.scheduler,
            self.profile,
            self.namespace,
            self.service,
            self.node_selector,
            self.required,
            self.preferred,
            self.avoided,
            self.tolerations,
            self.backends,
            self.near,
            self.insisted,
        )
        object.__setattr__(self, "digest", hash(whole))

    @property
    def service_key(self) -> tuple[str, str] | None:
        """Namespace and name of the service its tasks count for."""
        return None if self.service is None else (self.namespace, self.service)

    def __hash__(self) -> int:
        return self.digest

    def to_json(self) -> str:
        found: dict[str, Any] = {
            "amounts": dict(self.amounts),
            "kind": self.kind,
            "scheduler": self.scheduler,
            "profile": self.profile,
            "namespace": self.namespace,
        }
        for name in _OPTIONAL:
            if value := getattr(self, name):
                found[name] = value
        return json.dumps(found, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "Shape":
        found = json.loads(text)
        return Shape(
            amounts=tuple(found["amounts"].items()),
            kind=Kind(found["kind"]),
            scheduler=found["scheduler"],
            profile=found["profile"],
            namespace=found["namespace"],
            service=found.get("service"),
            node_selector=tuple((key, value) for key, value in found.get("node_selector", ())),
            required=tuple(_term_from(term) for term in found.get("required", ())),
            preferred=tuple(Weighted(weight, _term_from(term)) for weight, term in found.get("preferred", ())),
            avoided=tuple(Weighted(weight, _term_from(term)) for weight, term in found.get("avoided", ())),
            tolerations=tuple(_tolerance_from(*parts) for parts in found.get("tolerations", ())),
            backends=tuple(found.get("backends", ())),
            near=tuple(found.get("near", ())),
            insisted=tuple(Insisted(priority, _term_from(term)) for priority, term in found.get("insisted", ())),
        )

    @property
    def eased(self) -> "Shape":
        """Without the wishes of the highest priority number."""
        last = max(wish.priority for wish in self.insisted)
        return replace(self, insisted=tuple(wish for wish in self.insisted if wish.priority < last))


def _term_from(term: list[list[Any]]) -> Term:
    return tuple(Match(key, Operator(operator), tuple(values)) for key, operator, values in term)


def _tolerance_from(
    key: str | None, operator: str, value: str, effect: str | None, seconds: float | None = None
) -> Tolerance:
    return Tolerance(key, TolerationOperator(operator), value, None if effect is None else Effect(effect), seconds)


def _match(match: LabelMatch) -> Match:
    return Match(match.key, match.operator, tuple(match.values))


def _term(term: NodeTerm) -> Term:
    return tuple(_match(match) for match in term.match)


def _weighted(terms: Sequence[WeightedTerm]) -> tuple[Weighted, ...]:
    return tuple(Weighted(term.weight, _term(term)) for term in terms)


@lru_cache(maxsize=4096)
def _sorted_items(items: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(items))


def shape_of(spec: Workload, scheduler: str, profile: str) -> Shape:
    """The shape of a workload's tasks under the scheduler and profile that were resolved for it.

    A workload with an image needs a node that runs containers, whatever it calls itself. The namespace counts only
    where it matters to placement (names of other workloads and services live in it), so that tenants share shapes.
    """
    named = bool(spec.affinity or spec.service)
    wishes = spec.node_affinity
    return Shape(
        amounts=_sorted_items(tuple(spec.resources.amounts().items())),
        kind=Kind.CONTAINER if spec.run.image and spec.kind is Kind.JOB else spec.kind,
        scheduler=scheduler,
        profile=profile,
        namespace=spec.namespace if named else "",
        service=spec.service,
        node_selector=tuple(sorted(spec.node_selector.items())) if spec.node_selector else (),
        required=tuple([_term(term) for term in wishes.required]) if wishes.required else (),
        preferred=_weighted(wishes.preferred) if wishes.preferred else (),
        avoided=_weighted(wishes.avoided) if wishes.avoided else (),
        tolerations=tuple(
            [Tolerance(t.key, t.operator, t.value, t.effect, t.toleration_seconds) for t in spec.tolerations]
        ),
        backends=tuple(spec.backends.allow),
        near=tuple(sorted({a.near for a in spec.affinity})) if spec.affinity else (),
        insisted=tuple([Insisted(w.priority, _term(w)) for w in wishes.preferred if w.priority is not None]),
    )
