"""Having less urgent work give way for work that fits nowhere, if that helps.

Guarantees: nobody is told to go unless the work then fits, with its rules about other work and the network; and
work that keeps losing the room that was cleared for it waits longer each time before it has others go again.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dovetail.cluster.placements import Placement
from dovetail.engine.backfill.clearing import is_clearing
from dovetail.engine.gangs.gang_trial import places_to_clear, try_together
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.preemption.preempting import (
    PreemptionPlan,
    PreemptionRequest,
    clearing,
    find_room,
    preempt,
    to_be_tried,
    victims_in_words,
)
from dovetail.engine.promises.promises import Promise
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.placement.contract import Request
from dovetail.placement.preemption import FREE, Victims
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.nomination import NominatedPlacements
from dovetail.queueing.retry import backoff_s

#: So often others may give way in vain before a workload waits a while with having them do so again.
_BAD_LUCK = 2
#: So often victims are sought on other nodes where those that were found would go in vain.
_TRIED_AGAIN = 3


def displace(
    state: EngineState, work: Work, refusal: Explanation, together: int, now: float, commands: list[Command]
) -> Explanation:
    """Have less urgent work give way, if that helps; what is said of it while it waits."""
    return displace_by(state, work, refusal, now, commands, lambda: _room(state, work, together, now))


def displace_by(
    state: EngineState,
    work: Work,
    refusal: Explanation,
    now: float,
    commands: list[Command],
    search: Callable[[], PreemptionPlan | None],
) -> Explanation:
    """The same with any search; what it finds must make the work fit."""
    if is_clearing(state, work):
        return replace(refusal, outcome=Outcome.PREEMPTING, message=work.message)
    if work.displacing:  # they gave way, and it still does not fit: others were quicker, or it keeps losing its room
        work.displacing = False
        work.failed_preemptions += 1
        if (again := work.failed_preemptions - _BAD_LUCK) > 0:
            work.preemption_backoff_until = now + backoff_s(
                state.settings.backoff, again, state.settings.seed, str(work.id)
            )
            state.timers.set(TimerKind.PREEMPTION_PAUSE, work.id, work.preemption_backoff_until)
    kept = state.promises.withdraw(work.id)
    # Two that claim the same room could take it from each other for ever.
    if work.preemption_searched_at == state.wake.event_count or now < work.preemption_backoff_until:
        _offer(state, kept)
        return refusal
    work.preemption_searched_at = state.wake.event_count
    found = search()
    if found is None:
        _offer(state, kept)
        return refusal
    commands += preempt(state, work, found, now)
    work.displacing = True
    words = victims_in_words(state, found.tasks) if found.tasks else "tasks that are stopping already"
    together = max(1, work.gang_short if work.group is None else work.group.short)
    message = f"makes room for {together} task{'' if together == 1 else 's'}: waits for {words}"
    return replace(refusal, outcome=Outcome.PREEMPTING, message=message)


def _room(state: EngineState, work: Work, together: int, now: float) -> PreemptionPlan | None:
    if work.shape.kubernetes is not None:
        return _nominated(state, work)
    claim = PreemptionRequest(work.shape.least, work.rank, work.queue, together, work.id)
    request = state.asked(claim.shape, work.identity)
    victims = _cheapest(state, work, claim, request, now)
    return None if victims is None else clearing(request, victims)


def _nominated(state: EngineState, work: Work) -> PreemptionPlan | None:
    """Room for a pod, as Kubernetes makes it."""
    if not work.terms.may_preempt:
        return None
    request = state.asked(work.shape, work.identity)
    pipeline = state.pipelines[work.shape.profile]
    found = nominate(
        state.cluster,
        state.victims_table,
        pipeline.evaluator,
        request,
        work.terms.priority or 0,
        state.pod_budgets,
        _coming(state, work),
        None if request.non_local else pipeline.feasible_ignoring_capacity(request),
    )
    if found is None:
        return None
    return PreemptionPlan(found.victims, ((found.row, request.column),), FREE)


def _coming(state: EngineState, work: Work) -> NominatedPlacements:
    """Pods for which room is being made, and which are at least as urgent: their room is not to be had again."""
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


def _cheapest(state: EngineState, work: Work, claim: PreemptionRequest, request: Request, now: float) -> Victims | None:
    best: Victims | None = None
    places = places_to_clear(state, TrialSubject(work.id, claim.shape, work.identity), request, claim.count)
    again = 0 if claim.shape.gpus is None else _TRIED_AGAIN
    for place in places:
        found = find_room(state, claim, place, now)
        if found is None or (best is not None and best.cost <= found.cost):
            continue
        if not to_be_tried(state, request) or _would_fit(state, work, place, found, claim.count):
            best = found
        elif again:  # the right amount of GPUs, but in pieces, or of others: somewhere else perhaps
            again -= 1
            others = np.ones(state.cluster.width, dtype=np.bool_) if place.among is None else place.among.copy()
            others[list(found.placements)] = False
            places.append(replace(place, among=others))
    return best


def _offer(state: EngineState, kept: Promise | None) -> None:
    """Others may have the room that was cleared for one that cannot use it after all."""
    if kept is not None and kept.clearing:
        state.wake.dirty_rows.update(row for row, _ in kept.rows)


def _would_fit(state: EngineState, work: Work, request: Request, victims: Victims, together: int) -> bool:
    """Victims are sought by room alone: whether the tasks then keep their rules about each other has to be tried."""
    with state.cluster.trial():
        for task in (*victims.tasks, *state.stopping):
            if task in state.cluster.placements.by_task:
                state.cluster.remove(task)
        return try_together(state, work, request, sorted(work.waiting)[:together]).refusal is None
