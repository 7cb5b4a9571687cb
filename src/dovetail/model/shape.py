"""Shape: everything about a task that placement looks at, and nothing else.

Tasks of equal shape are interchangeable for the scheduler, which is what lets one evaluation serve thousands of
them. A shape is hashable, and `to_json`/`from_json` are inverse, so that a restart needs no other definition.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from dovetail.model.arrangement import Arrangement
from dovetail.model.company import HOST, REGION, Affinity, Conflict, Peers, Spread
from dovetail.model.constraint import Kind as Demand
from dovetail.model.device import WHOLE
from dovetail.model.quantity import show_bytes
from dovetail.model.resources import GPU, Request
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
    *("wants", "company", "spread", "traffic", "layout", "gpus"),
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
    """A wish that is a demand until nothing fits; the lowest priority number is given up first."""

    priority: int
    term: Term


class Weighted(NamedTuple):
    weight: int
    term: Term


class Want(NamedTuple):
    """An expression about nodes: a requirement, or a wish with a weight, insisted on while it has a priority."""

    demand: Demand
    text: str
    weight: float = 1.0
    priority: int | None = None
    source: str = ""  # whose it is, where it is not the workload's own: `policy ssd-only`

    @property
    def must_hold(self) -> bool:
        return self.demand is Demand.REQUIRE or self.priority is not None


class Selector(NamedTuple):
    """Some tasks: all that is given holds of them. No namespaces: of all namespaces."""

    namespaces: tuple[str, ...]
    workload: str | None = None
    service: str | None = None
    term: Term = ()
    conflict: str | None = None  # a member of this set

    def __str__(self) -> str:
        named = (("workload", self.workload), ("service", self.service), ("conflict set", self.conflict))
        words = [f"{word} {name}" for word, name in named if name is not None]
        return " and ".join([*words, *(f"[{match}]" for match in self.term)])


class Relation(StrEnum):
    NEAR = "near"
    APART = "apart"
    DOMAINS = "domains"


class Company(NamedTuple):
    """How a task lies to other tasks: near to any of them or apart from all of them, in a domain of the level or by
    distance; or with them in so many domains. A wish if it has a weight, else a requirement."""

    relation: Relation
    whom: tuple[Selector, ...]
    level: str = HOST
    distance: float | None = None
    domains: int = 0
    weight: float | None = None
    but: Selector | None = None  # who of them does not count

    def __str__(self) -> str:
        whom = " or ".join(map(str, self.whom))
        if self.relation is Relation.DOMAINS:
            return f"in {self.domains} domains of {self.level} with {whom}"
        where = f"one {self.level}" if self.distance is None else f"distance {self.distance:g}"
        return f"{self.relation} {'to' if self.relation is Relation.NEAR else 'from'} {whom} within {where}"


class GpuAsk(NamedTuple):
    """Which GPUs one task gets: `count` whole ones or, where that is 0, `share` thousandths of a single one; of one of
    the models (any, if none is named; the first is best), each with at least so many bytes of memory."""

    count: int = 0  # type: ignore[assignment]  # tuples have a method of this name, which nobody calls here
    share: int = 0
    models: tuple[str, ...] = ()
    memory: int = 0
    same_island: bool = False

    @property
    def each(self) -> int:
        """Thousandths that are taken of each device."""
        return WHOLE if self.count else self.share

    @property
    def is_picky(self) -> bool:
        """Not every GPU will do, or not any of them together."""
        return bool(self.models) or self.memory > 0 or self.same_island

    def __str__(self) -> str:
        words = (
            f"{self.count} GPU{'' if self.count == 1 else 's'}" if self.count else f"{self.share / WHOLE:g} of a GPU"
        )
        models = f" of model {' or '.join(self.models)}" if self.models else ""
        memory = f" with {show_bytes(self.memory)} each" if self.memory else ""
        return words + models + memory + (" in one island" if self.same_island else "")


def gpus_in(amount: float) -> GpuAsk | None:
    """What is asked for where only an amount of GPUs is known, in thousandths."""
    if not amount:
        return None
    return GpuAsk(count=int(amount) // WHOLE) if amount >= WHOLE else GpuAsk(share=int(amount))


class Layout(NamedTuple):
    """How the tasks of a gang lie to each other: levels by name, slices as (size, level), large ones first."""

    required: str | None = None
    preferred: str | None = None
    slices: tuple[tuple[int, str], ...] = ()
    strategy: str = ""  # empty: whichever suits such work

    @property
    def levels(self) -> tuple[str, ...]:
        named = (self.required, self.preferred, *(level for _, level in self.slices))
        return tuple(level for level in named if level is not None)


class Even(NamedTuple):
    """Spread: at most `max_skew` more of them in a domain of the level than in the emptiest one."""

    level: str
    max_skew: int
    whom: tuple[Selector, ...]
    min_domains: int = 1
    weight: float | None = None

    def __str__(self) -> str:
        return f"spread over {self.level} with max_skew {self.max_skew}"


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
    wants: tuple[Want, ...] = ()
    company: tuple[Company, ...] = ()
    spread: tuple[Even, ...] = ()
    traffic: tuple[tuple[str, int], ...] = ()  # workloads it talks to, by name, and how much in Mbps
    layout: Layout | None = None
    gpus: GpuAsk | None = None  # None only if it asks for no GPU
    digest: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        if self.gpus is None:
            object.__setattr__(self, "gpus", gpus_in(next((a for name, a in self.amounts if name == GPU), 0)))
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
            self.wants,
            self.company,
            self.spread,
            self.traffic,
            self.layout,
            self.gpus,
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
            wants=tuple(Want(Demand(demand), *rest) for demand, *rest in found.get("wants", ())),
            company=tuple(_company_from(parts) for parts in found.get("company", ())),
            spread=tuple(_even_from(*parts) for parts in found.get("spread", ())),
            traffic=tuple((to, mbps) for to, mbps in found.get("traffic", ())),
            layout=None if "layout" not in found else _layout_from(*found["layout"]),
            gpus=None if "gpus" not in found else _gpus_from(*found["gpus"]),
        )

    @property
    def insists(self) -> bool:
        """Some wish is a demand until nothing fits."""
        return bool(self.insisted) or any(want.priority is not None for want in self.wants)

    def eased(self) -> "tuple[Shape, tuple[str, ...]]":
        """Without insisting on the wishes of the lowest priority number, and which those were."""
        lowest = min([w.priority for w in self.insisted] + [w.priority for w in self.wants if w.priority is not None])
        terms = [" and ".join(map(str, wish.term)) for wish in self.insisted if wish.priority == lowest]
        texts = [want.text for want in self.wants if want.priority == lowest]
        eased = replace(
            self,
            insisted=tuple(wish for wish in self.insisted if wish.priority != lowest),
            wants=tuple(w._replace(priority=None) if w.priority == lowest else w for w in self.wants),
        )
        return eased, (*terms, *texts)

    @property
    def least(self) -> "Shape":
        """What it cannot do without: nothing is insisted on that is a wish."""
        if not self.insists:
            return self
        return replace(self, insisted=(), wants=tuple(w._replace(priority=None) for w in self.wants))


def _term_from(term: list[list[Any]]) -> Term:
    return tuple(Match(key, Operator(operator), tuple(values)) for key, operator, values in term)


def _selector_from(parts: list[Any]) -> Selector:
    namespaces, workload, service, term, conflict = parts
    return Selector(tuple(namespaces), workload, service, _term_from(term), conflict)


def _company_from(parts: list[Any]) -> Company:
    relation, whom, level, distance, count, weight, but = parts
    selectors = tuple(map(_selector_from, whom))
    return Company(
        Relation(relation), selectors, level, distance, count, weight, None if but is None else _selector_from(but)
    )


def _gpus_from(count: int, share: int, models: list[str], memory: int, same_island: bool) -> GpuAsk:
    return GpuAsk(count, share, tuple(models), memory, same_island)


def gpus_of(asked: Request) -> GpuAsk | None:
    """What a task asks for of GPUs, one by one."""
    plain = gpus_in(asked.amounts().get(GPU, 0)) if asked.gpu else None
    if plain is None:
        return None
    together = asked.gpu_island is not None and plain.count > 1
    return plain._replace(models=tuple(asked.gpu_model), memory=asked.gpu_memory, same_island=together)


def _layout_from(required: str | None, preferred: str | None, slices: list[Any], strategy: str) -> Layout:
    return Layout(required, preferred, tuple((size, level) for size, level in slices), strategy)


def _even_from(level: str, max_skew: int, whom: list[Any], min_domains: int, weight: float | None) -> Even:
    return Even(level, max_skew, tuple(map(_selector_from, whom)), min_domains, weight)


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


def near_of(rules: Sequence[Affinity]) -> tuple[str, ...]:
    """Workloads it wants to be as near to as can be; those that it must be near to it should be nearest to, too."""
    near = [rule.near for rule in rules if rule.near is not None]
    return tuple(sorted({peers.workload for peers in near if peers.workload and not peers.namespaces}))


def _selector(peers: Peers, namespace: str) -> Selector:
    equal = [Match(key, Operator.IN, (value,)) for key, value in sorted(peers.labels.items())]
    spaces = () if "*" in peers.namespaces else tuple(sorted(set(peers.namespaces))) or (namespace,)
    return Selector(spaces, peers.workload, peers.service, (*equal, *map(_match, peers.match)))


def _selectors(peers: Iterable[Peers], namespace: str) -> tuple[Selector, ...]:
    return tuple([_selector(one, namespace) for one in peers])


def _companion(rule: Affinity, namespace: str) -> Company | None:
    """None for `near` alone, which only scores look at."""
    if rule.near is not None:
        if rule.within is None and rule.distance is None:
            return None
        whom = _selectors([rule.near], namespace)
        return Company(Relation.NEAR, whom, rule.within or HOST, rule.distance, weight=rule.weight)
    if rule.apart is not None:
        whom = _selectors([rule.apart], namespace)
        return Company(Relation.APART, whom, rule.within or HOST, rule.distance, weight=rule.weight)
    level = rule.within or REGION
    if rule.in_n_regions is not None:
        whom = _selectors(rule.in_n_regions, namespace)
        return Company(Relation.DOMAINS, whom, level, domains=rule.n or 1, weight=rule.weight)
    relation = Relation.NEAR if rule.in_same_region is not None else Relation.APART
    whom = _selectors(rule.in_same_region or rule.in_different_regions or (), namespace)
    return Company(relation, whom, level, weight=rule.weight)


def company_of(
    affinity: Sequence[Affinity], conflicts: Sequence[Conflict], namespace: str, name: str
) -> tuple[Company, ...]:
    """The affinity and the conflict sets of a workload."""
    if not affinity and not conflicts:
        return ()
    space = (namespace,)
    rules = [found for rule in affinity if (found := _companion(rule, namespace)) is not None]
    sets = [
        Company(
            Relation.APART,
            (Selector(space, conflict=conflict.set),),
            conflict.within,
            but=Selector(space, workload=name, conflict=conflict.set),  # a part of those that the rule is about
        )
        for conflict in conflicts
    ]
    return tuple(dict.fromkeys([*rules, *sets]))


def spread_of(spread: Sequence[Spread], namespace: str, name: str) -> tuple[Even, ...]:
    found = []
    for one in spread:
        whom = Selector((namespace,), workload=name) if one.of is None else _selector(one.of, namespace)
        found.append(Even(one.over, one.max_skew, (whom,), one.min_domains or 1, one.weight))
    return tuple(dict.fromkeys(found))


def _layout(wanted: Arrangement) -> Layout:
    slices = tuple((one.size, one.within) for one in wanted.slices)
    return Layout(wanted.required, wanted.preferred, slices, str(wanted.strategy or ""))


def _kept_together(spec: Workload) -> tuple[Company, ...]:
    """What its layout means for one task that comes after the others, or takes the place of one of them."""
    if spec.topology is None or spec.replicas == 1:
        return ()
    own = (Selector((spec.namespace,), workload=spec.name),)
    wanted = ((spec.topology.required, None), (spec.topology.preferred, 1.0))
    return tuple([Company(Relation.NEAR, own, level, weight=weight) for level, weight in wanted if level is not None])


def shape_of(spec: Workload, scheduler: str, profile: str, wants: tuple[Want, ...] = ()) -> Shape:
    """The shape of a workload's tasks under the scheduler and profile that were resolved for it.

    A workload with an image needs a node that runs containers, whatever it calls itself. The namespace counts only
    where it matters to placement (names of other workloads and services live in it), so that tenants share shapes.
    """
    named = bool(spec.affinity or spec.service or wants or spec.traffic)
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
        near=near_of(spec.affinity) if spec.affinity else (),
        insisted=tuple([Insisted(w.priority, _term(w)) for w in wishes.preferred if w.priority is not None]),
        wants=wants,
        company=(*company_of(spec.affinity, spec.conflicts, spec.namespace, spec.name), *_kept_together(spec)),
        spread=spread_of(spec.spread, spec.namespace, spec.name) if spec.spread else (),
        traffic=tuple(sorted((one.to, one.mbps) for one in spec.traffic)) if spec.traffic else (),
        gpus=gpus_of(spec.resources),
        layout=None if spec.topology is None else _layout(spec.topology),
    )
