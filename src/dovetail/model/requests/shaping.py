"""From what a user wrote to the shape of its tasks."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from dovetail.model.requests.asks import (
    AffinityRule,
    ConstraintAsk,
    GpuAsk,
    Insisted,
    Layout,
    MarketAsk,
    Match,
    Relation,
    Selector,
    SpreadRule,
    Term,
    Tolerance,
    WeightedMatch,
    gpus_in,
)
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import known_as
from dovetail.model.resources import GPU, ResourceRequest
from dovetail.model.workloads.affinity import HOST, REGION, Affinity, ConflictSet, Peers, Spread
from dovetail.model.workloads.arrangement import Arrangement
from dovetail.model.workloads.image import canonical
from dovetail.model.workloads.preference import PRESETS, PlacePreference, PreferenceWeights
from dovetail.model.workloads.roles import GROUP_LABEL
from dovetail.model.workloads.selection import LabelMatch, NodeTerm, Operator, WeightedTerm
from dovetail.model.workloads.workload import TaskTemplate, Workload, WorkloadKind

BYTES_PER_GB = 1e9  # as transfers are billed
UNKNOWN_RUN_S = 3600.0  # where nobody says how long a task runs, prices are compared for an hour
SHORTEST_RUN_S = 1.0


def gpus_of(asked: ResourceRequest) -> GpuAsk | None:
    """The GPUs that a task requests, one by one."""
    plain = gpus_in(asked.amounts().get(GPU, 0)) if asked.gpu else None
    if plain is None:
        return None
    together = asked.gpu_island is not None and plain.count > 1
    return plain._replace(models=tuple(asked.gpu_model), memory=asked.gpu_memory, same_island=together)


def _match(match: LabelMatch) -> Match:
    return Match(match.key, match.operator, tuple(match.values))


def _term(term: NodeTerm) -> Term:
    return tuple(_match(match) for match in term.match)


def _weighted(terms: Sequence[WeightedTerm]) -> tuple[WeightedMatch, ...]:
    return tuple(WeightedMatch(term.weight, _term(term)) for term in terms)


@lru_cache(maxsize=4096)
def _sorted_items(items: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(items))


def near_of(rules: Sequence[Affinity]) -> tuple[str, ...]:
    """Workloads that it wants to be as near to as possible, including those that it must be near to."""
    near = [rule.near for rule in rules if rule.near is not None]
    return tuple(sorted({peers.workload for peers in near if peers.workload and not peers.namespaces}))


def _selector(peers: Peers, namespace: str) -> Selector:
    equal = [Match(key, Operator.IN, (value,)) for key, value in sorted(peers.labels.items())]
    spaces = () if "*" in peers.namespaces else tuple(sorted(set(peers.namespaces))) or (namespace,)
    return Selector(spaces, peers.workload, peers.service, (*equal, *map(_match, peers.match)))


def _selectors(peers: Iterable[Peers], namespace: str) -> tuple[Selector, ...]:
    return tuple([_selector(one, namespace) for one in peers])


def _companion(rule: Affinity, namespace: str) -> AffinityRule | None:
    """None for `near` alone, which only scores read."""
    if rule.near is not None:
        if rule.within is None and rule.distance is None:
            return None
        whom = _selectors([rule.near], namespace)
        return AffinityRule(Relation.NEAR, whom, rule.within or HOST, rule.distance, weight=rule.weight)
    if rule.apart is not None:
        whom = _selectors([rule.apart], namespace)
        return AffinityRule(Relation.APART, whom, rule.within or HOST, rule.distance, weight=rule.weight)
    level = rule.within or REGION
    if rule.in_n_regions is not None:
        whom = _selectors(rule.in_n_regions, namespace)
        return AffinityRule(Relation.DOMAINS, whom, level, domains=rule.n or 1, weight=rule.weight)
    relation = Relation.NEAR if rule.in_same_region is not None else Relation.APART
    whom = _selectors(rule.in_same_region or rule.in_different_regions or (), namespace)
    return AffinityRule(relation, whom, level, weight=rule.weight)


def affinity_rules_of(
    affinity: Sequence[Affinity], conflicts: Sequence[ConflictSet], namespace: str, name: str
) -> tuple[AffinityRule, ...]:
    """The affinity and the conflict sets of a workload."""
    if not affinity and not conflicts:
        return ()
    space = (namespace,)
    rules = [found for rule in affinity if (found := _companion(rule, namespace)) is not None]
    sets = [
        AffinityRule(
            Relation.APART,
            (Selector(space, conflict=conflict.set),),
            conflict.within,
            but=Selector(space, workload=name, conflict=conflict.set),  # a part of those that the rule is about
        )
        for conflict in conflicts
    ]
    return tuple(dict.fromkeys([*rules, *sets]))


def spread_of(spread: Sequence[Spread], namespace: str, name: str) -> tuple[SpreadRule, ...]:
    found = []
    for one in spread:
        whom = Selector((namespace,), workload=name) if one.of is None else _selector(one.of, namespace)
        found.append(SpreadRule(one.over, one.max_skew, (whom,), one.min_domains or 1, one.weight))
    return tuple(dict.fromkeys(found))


def layout_of(wanted: Arrangement) -> Layout:
    slices = tuple((one.size, one.within) for one in wanted.slices)
    return Layout(wanted.required, wanted.preferred, slices, str(wanted.strategy or ""), wanted.bandwidth or 0)


def kept_together(spec: Workload) -> tuple[AffinityRule, ...]:
    """What its layout means for one task that joins the others later, or replaces one of them."""
    group = None if spec.gang is None else spec.gang.group
    if spec.topology is None or (spec.replicas == 1 and group is None):
        return ()
    return near_own(layout_of(spec.topology), spec.namespace, group, spec.name)


def near_own(layout: Layout, namespace: str, group: str | None, workload: str = "") -> tuple[AffinityRule, ...]:
    """The same for a layout: near the others of the group, or of the workload if it is in no group."""
    in_group = (Match(GROUP_LABEL, Operator.IN, (group,)),) if group is not None else ()
    own = (Selector((namespace,), workload=workload if group is None else None, term=in_group),)
    wanted = ((layout.required, None), (layout.preferred, 1.0))
    return tuple(
        [AffinityRule(Relation.NEAR, own, level, weight=weight) for level, weight in wanted if level is not None]
    )


def market_of(
    spec: TaskTemplate, run_s: float | None, default: PlacePreference | PreferenceWeights | None
) -> MarketAsk | None:
    """What matters to it where several places could run it; None if nobody said."""
    prefer = default if spec.prefer is None else spec.prefer
    if prefer is None:
        return None
    weights = (PRESETS[prefer] if isinstance(prefer, PlacePreference) else prefer).values()
    total = sum(weights)
    inputs: dict[str, float] = {}
    for one in spec.inputs:
        inputs[one.place] = inputs.get(one.place, 0.0) + one.size / BYTES_PER_GB
    price, start, carbon, egress, risk, local = [weight / total for weight in weights]
    return MarketAsk(
        *(price, start, carbon, egress, risk, local),
        run_s=max(UNKNOWN_RUN_S if run_s is None else run_s, SHORTEST_RUN_S),
        checkpoint_s=spec.disruption.checkpoint_every or 0.0,
        inputs=tuple(sorted(inputs.items())),
    )


def shape_of(
    spec: Workload, scheduler: str, profile: str, wants: tuple[ConstraintAsk, ...] = (), *, by_image: bool = False
) -> Shape:
    """The shape of a workload's tasks under the scheduler and profile that were resolved for it.

    A workload with an image needs a node that runs containers, whatever its kind. The namespace counts only where it
    matters to placement (names of other workloads and services live in it), so that tenants share shapes. For the same
    reason the image counts only `by_image`, where the profile reads it.
    """
    named = bool(spec.affinity or spec.service or wants or spec.traffic)
    wishes, name = spec.node_affinity, known_as(spec.name, spec.labels.items())
    return Shape(
        amounts=_sorted_items(tuple(spec.resources.amounts().items())),
        kind=WorkloadKind.CONTAINER if spec.run.image and spec.kind is WorkloadKind.JOB else spec.kind,
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
        workload_affinity=(
            *affinity_rules_of(spec.affinity, spec.conflicts, spec.namespace, name),
            *kept_together(spec),
        ),
        spread=spread_of(spec.spread, spec.namespace, name) if spec.spread else (),
        traffic=tuple(sorted((one.to, one.mbps) for one in spec.traffic)) if spec.traffic else (),
        gpus=gpus_of(spec.resources),
        layout=None if spec.topology is None else layout_of(spec.topology),
        image=canonical(spec.run.image) if by_image and spec.run.image else "",
    )
