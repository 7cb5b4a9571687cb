"""Preemption: less urgent work is stopped for work that fits nowhere, if that helps.

The profile chooses how victims are found (`ProfileSettings.victims`): the cheapest set, or as kube-scheduler nominates
a node. Guarantees: no task is stopped unless the work then fits, with its rules about other work and the network.
Work that keeps losing the capacity that was cleared for it waits longer each time before it preempts again.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.placements import Placement
from dovetail.engine.backfill.backfilling import is_clearing
from dovetail.engine.gangs.gang_trial import places_to_clear, try_subject, try_together
from dovetail.engine.gangs.group_trial import GroupTrial, attempts, hardest_first, only_among, place_choices
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.gangs.requests import unpromised_request
from dovetail.engine.preemption.gang_nomination import gangs_seen_by, nominate_gang
from dovetail.engine.preemption.preempting import (
    PreemptionPlan,
    PreemptionRequest,
    needs_trial,
    plan_preemption,
    preempt,
)
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import GroupPart, Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.task import TaskId
from dovetail.model.text.listing import first_of
from dovetail.placement.contract import Request
from dovetail.placement.preemption.cheapest import cheapest
from dovetail.placement.preemption.cost import FREE, Cost
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.nomination import NominatedPlacements
from dovetail.queueing.settings import backoff_s

#: How often a preemption may fail before the workload backs off.
_BAD_LUCK = 2
#: How often other nodes are searched after the victims found first would not help.
_SEARCHES_ELSEWHERE = 3


def displace(
    state: EngineState, parts: list[GroupPart], refusal: Explanation, now: float, commands: list[Command]
) -> Explanation:
    """Preempt for tasks that have to start together, if that helps. Returns why they still wait."""
    work = parts[0].work
    if is_clearing(state, work):
        return replace(refusal, outcome=Outcome.PREEMPTING, message=work.message)
    if work.displacing:  # the victims are gone, and it still does not fit: others were quicker
        work.displacing = False
        work.failed_preemptions += 1
        if (again := work.failed_preemptions - _BAD_LUCK) > 0:
            pause_s = backoff_s(state.settings.backoff, again, state.settings.seed, str(work.id))
            work.preemption_backoff_until = now + pause_s
            state.timers.set(TimerKind.PREEMPTION_PAUSE, work.id, work.preemption_backoff_until)
    kept, found = state.promises.withdraw(work.id), None
    # Once for each event: two workloads that claim the same capacity could take it from each other endlessly.
    if work.preemption_searched_at != state.wake.event_count and now >= work.preemption_backoff_until:
        work.preemption_searched_at = state.wake.event_count
        found = VICTIM_SEARCHES[state.pipelines[work.shape.profile].settings.victims](state, parts, now)
    if found is None:
        if kept is not None and kept.clearing:  # the work cannot use the capacity cleared for it, but others may
            state.wake.dirty_rows.update(row for row, _ in kept.rows)
        return refusal
    commands += preempt(state, work, found, now)
    work.displacing = True
    words = describe_victims(state, found.tasks) if found.tasks else "tasks that are stopping already"
    together = sum(len(part.replicas) for part in parts)
    message = f"frees capacity for {together} task{'' if together == 1 else 's'}: waits for {words}"
    return replace(refusal, outcome=Outcome.PREEMPTING, message=message)


def forgo(state: EngineState, work: Work) -> None:
    """Work that may not preempt by itself was made room for, and still does not fit: others may use that room."""
    if work.displacing and not is_clearing(state, work):
        work.displacing = False
        kept = state.promises.withdraw(work.id)
        state.wake.dirty_rows.update(() if kept is None else (row for row, _ in kept.rows))


def describe_victims(state: EngineState, tasks: tuple[TaskId, ...]) -> str:
    """`3 tasks: web.0, web.1 and 1 more`."""

    def name(task: TaskId) -> str:
        work = state.work[task.workload]
        return work.shown_name if work.is_pod else f"{work.name}.{task.replica}"

    named = first_of(tasks, 3, name)
    return f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}: {named}"


def _nominated(state: EngineState, parts: list[GroupPart], now: float) -> PreemptionPlan | None:
    """Capacity for one pod on one node, or for every pod of a gang (`gang_nomination`). Gangs of other work have no
    priority of Kubernetes: for those the cheapest victims go."""
    work = parts[0].work
    if len(parts) > 1 or len(parts[0].replicas) > 1:
        if work.terms.priority is None:
            return _cheapest(state, parts, now)
        return nominate_gang(state, parts, _nominated_before(state, work), now)
    if not work.terms.may_preempt:
        return None
    request, priority = state.asked(work.shape, work.identity), work.terms.priority or 0
    pipeline, coming = state.pipelines[work.shape.profile], _nominated_before(state, work)
    candidates = None if request.non_local else pipeline.feasible_ignoring_capacity(request)
    tables = state.cluster, state.victim_table, pipeline.evaluator
    gangs = gangs_seen_by(state, work)
    found = nominate(*tables, request, priority, state.pod_budgets, coming, candidates, gangs)
    return None if found is None else PreemptionPlan(found.victims, ((found.row, request.column),), FREE)


def _nominated_before(state: EngineState, work: Work) -> NominatedPlacements:
    """Pods that are nominated to a node and at least as urgent: the capacity kept for them is not available."""
    nominated_tasks = state.promises.nominated_tasks
    for owner in nominated_tasks.take_dirty():
        nominated_tasks.remove(owner)
        promise = state.promises.of_work.get(owner)
        if promise is not None and promise.clearing:
            other = state.work[owner]
            victim_info = state.victim_info(other, 0.0)
            placements = [Placement(row, column, None, victim_info, other.identity) for row, column in promise.rows]
            nominated_tasks.add(owner, other.terms.priority or 0, placements)
    return nominated_tasks.at_or_above(work.terms.priority or 0, except_owner=work.id)


def _cheapest(state: EngineState, parts: list[GroupPart], now: float) -> PreemptionPlan | None:
    """The cheapest victims that free enough for all parts, in one domain if they have to be in one."""
    if len(parts) == 1:
        return _cheapest_for_one(state, parts[0], now)
    tried = attempts(state, parts, now, [part.work.shape.least for part in parts])
    first = hardest_first(state, tried)[0]
    request = unpromised_request(state, parts[first].work, tried[first].subject.shape)
    places = places_to_clear(state, tried[first].subject, request, len(parts[first].replicas))
    return cheapest(places, lambda place: _cleared(state, parts, tried, place.among, now))


def _cheapest_for_one(state: EngineState, part: GroupPart, now: float) -> PreemptionPlan | None:
    work, count = part.work, len(part.replicas)
    claim = PreemptionRequest(work.shape.least, work.rank, work.queue, count, work.id)
    request = state.asked(claim.shape, work.identity)

    def fits(place: Request, found: PreemptionPlan) -> bool:
        with state.cluster.trial():
            for task in (*found.tasks, *state.stopping):
                if task in state.cluster.placements.by_task:
                    state.cluster.remove(task)
            return try_together(state, work, place, part.replicas).refusal is None

    def elsewhere(place: Request, found: PreemptionPlan) -> Request:
        """The amount of GPUs was enough, but they were fragmented, or of another kind."""
        others = np.ones(state.cluster.width, dtype=np.bool_) if place.among is None else place.among.copy()
        others[[row for row, _ in found.kept]] = False
        return replace(place, among=others)

    places = places_to_clear(state, TrialSubject(work.id, claim.shape, work.identity), request, count)
    searches = 0 if claim.shape.gpus is None else _SEARCHES_ELSEWHERE
    find, trial = partial(plan_preemption, state, claim, now), fits if needs_trial(state, request) else None
    return cheapest(places, find, trial, elsewhere=elsewhere, searches=searches)


def _cleared(
    state: EngineState, parts: list[GroupPart], tried: list[GroupTrial], among: B1 | None, now: float
) -> PreemptionPlan | None:
    """One part after the other, each with the victims it needs once those before it are placed."""
    cluster = state.cluster
    victims: list[TaskId] = []
    kept: dict[int, F8] = {}
    cost: Cost | None = None
    with cluster.trial():
        for task in [task for task in state.stopping if task in cluster.placements.by_task]:
            cluster.remove(task)
        for index in hardest_first(state, tried):
            one, work = tried[index], parts[index].work
            request = only_among(unpromised_request(state, work, one.subject.shape), among)
            found = try_subject(state, one.subject, request, one.replicas, begun=False)
            if found.refusal is not None:
                claim = PreemptionRequest(one.subject.shape, work.rank, work.queue, len(one.replicas), work.id)
                preempted = plan_preemption(state, claim, now, request)
                if preempted is None:
                    return None
                cost = preempted.cost if cost is None else cost.with_more(preempted.cost)
                victims += preempted.tasks
                for task in preempted.tasks:
                    cluster.remove(task)
                found = try_subject(state, one.subject, request, one.replicas, begun=False)
                if found.refusal is not None:
                    return None
            for choice in place_choices(state, one, request, found.choices):
                assert choice.row is not None
                kept[choice.row] = kept.get(choice.row, np.zeros_like(request.column)) + request.column
    if cost is None and not state.stopping:
        return None
    return PreemptionPlan(tuple(victims), tuple(kept.items()), cost or FREE)


#: How victims are found, by `ProfileSettings.victims`.
VICTIM_SEARCHES: dict[str, Callable[[EngineState, list[GroupPart], float], PreemptionPlan | None]] = {
    "cheapest": _cheapest,
    "kubernetes": _nominated,
}
