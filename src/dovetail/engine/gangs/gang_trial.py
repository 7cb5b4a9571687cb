"""Where several tasks of one workload would go at once: all of them are placed in a trial, which is rolled back.

Guarantees: nothing is changed. Since only a complete gang is placed afterwards, no two gangs can each hold half of what
both need. A gang whose tasks must or should be near each other in the network is laid out as a whole (`gang_layout`);
other tasks are tried one after the other (`one_by_one`). Leaves to others: several workloads at once (`group_trial`).
"""

from dataclasses import replace

import numpy as np

from dovetail.cluster.selector_counts import concerns, selects
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.gang_layout import GangLayout
from dovetail.engine.gangs.one_by_one import TrialResult, TrialSubject, one_by_one
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.requests.asks import AffinityRule, Layout, Relation, Selector
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.placement.contract import Request

_MOST_CLEARED = 8


def try_together(state: EngineState, work: Work, request: Request, replicas: list[int]) -> TrialResult:
    """Where these tasks of a live workload would go."""
    begun = work.group is not None and bool(work.group.firm)
    return try_subject(state, TrialSubject(work.id, work.shape, work.identity), request, replicas, begun)


def try_subject(
    state: EngineState, subject: TrialSubject, request: Request, replicas: list[int], begun: bool
) -> TrialResult:
    """Where these tasks would go. `begun`: others of the gang have nodes already, and these join them there."""
    layout = layout_of(state, subject) if len(replicas) > 1 and not begun else None
    if layout is not None:
        return GangLayout(state, subject, request, replicas, layout).arranged()
    return one_by_one(state, subject, request, replicas)


def places_to_clear(state: EngineState, subject: TrialSubject, request: Request, count: int) -> list[Request]:
    """Where victims are sought for so many tasks: anywhere; or, if all must be in one domain, in each domain that could
    hold them if it were empty, those with most free capacity first."""
    layout = layout_of(state, subject) if count > 1 else None
    if layout is None or layout.required is None:
        return [request]
    tiers = state.tiers.of(layout.levels)
    tier = tiers[tiers.at(layout.required)]
    view = View(state.cluster)
    allowed = state.pipelines[subject.shape.profile].evaluator.run_filters(request, view).feasible_ignoring_capacity
    empty, free = np.where(allowed, np.inf, 0.0), np.where(allowed, np.inf, 0.0)
    for resource, needed in request.needs.items():
        most, kept, now = view.schedulable(resource), view.reserved(resource), view.free(resource)
        if most is None or kept is None or now is None:
            return []
        empty = np.minimum(empty, np.floor(np.maximum(most - kept, 0.0) / needed))
        free = np.minimum(free, np.floor(np.maximum(now, 0.0) / needed))
    could = np.flatnonzero(tier.sums(empty) >= count)
    first = could[np.argsort(-tier.sums(free)[could], kind="stable")]
    return [replace(request, among=tier.codes == domain) for domain in first[:_MOST_CLEARED].tolist()]


def layout_of(state: EngineState, subject: TrialSubject) -> Layout | None:
    """The layout of its tasks: the one it asks for, narrowed by rules that keep it near its own tasks."""
    shape = subject.shape
    near = [
        rule.level
        for rule in shape.workload_affinity
        if rule.relation is Relation.NEAR and rule.weight is None and rule.distance is None
        # Where others match the rule too, its tasks may go to any of those, and need not be in one domain.
        if concerns(rule, subject.identity) and not _others_run(state, rule, subject.identity)
    ]
    if not near:
        return shape.layout
    layout = shape.layout or Layout()
    levels = [level for level in (layout.required, *near) if level is not None]
    tiers = state.tiers.of((*layout.levels, *near))
    return layout._replace(required=max(levels, key=tiers.at))


def _others_run(state: EngineState, rule: AffinityRule, identity: TaskIdentity) -> bool:
    """Do tasks run that match the rule and are not of the gang itself?"""
    placements = state.cluster.placements
    running = {whom: placements.selector_count(whom).total for whom in rule.whom}
    if not any(running.values()):
        return False
    own = placements.selector_count(Selector((identity.namespace,), workload=identity.workload)).total
    return any(count > (own if selects(whom, identity) else 0) for whom, count in running.items())
