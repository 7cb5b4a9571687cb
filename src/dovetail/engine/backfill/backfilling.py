"""Backfill: the head of a queue is promised a start, and other work runs ahead of it only if that keeps the promise.

A promise is made when a workload is refused and may claim one. It is renewed when something changed and the workload is
refused again, and withdrawn when the workload starts or another becomes head.
"""

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER, Slot
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.gang_trial import places_to_clear
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.gangs.requests import is_timetabled, waiting_for_cheaper
from dovetail.engine.promises.promises import Promise
from dovetail.engine.state.engine_state import BackfillState, EngineState
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.task import TaskId
from dovetail.queueing.run_times import extended_estimate_s

SOON_S = 1.0


def keep_promises(state: EngineState, now: float) -> None:
    """Before each cycle: renew promises that work which runs longer than expected has moved."""
    if not len(state.ends) or state.ends.first > now:
        return
    if all(backfill_state.backfill.head == "sticky" for backfill_state in state.backfill_states.values()):
        return
    state.wake.event_count += 1
    state.ends.extend(now, lambda task, at: now + _extension_s(state, task, at, now))
    for name, backfill_state in state.backfill_states.items():
        if not backfill_state.backfill.promises:
            continue
        if backfill_state.backfill.mode == "conservative":
            _renew_promises(state, name)
        elif backfill_state.head is not None:
            plan(state, state.work[backfill_state.head], now)


def refused(state: EngineState, work: Work, now: float) -> None:
    """The work was just parked: make it the head if it is first, and promise it what it may be promised."""
    name = work.shape.scheduler
    backfill_state = state.backfill_states[name]
    if backfill_state.backfill.mode == "off":
        return
    if backfill_state.backfill.mode == "conservative":
        if len(state.promises.of_work) < backfill_state.backfill.depth:
            plan(state, work, now)
        return
    if backfill_state.head is None or backfill_state.backfill.head == "first":
        _replace_head(state, backfill_state, state.pending.first_blocked(name))
    if backfill_state.head == work.id and backfill_state.backfill.promises:
        plan(state, work, now)


def set_head(state: EngineState, backfill_state: BackfillState, work: int | None) -> None:
    """Change the head of a queue between cycles; the promise to the former head is withdrawn."""
    _replace_head(state, backfill_state, work)
    wake_after_withdrawals(state)


def _replace_head(state: EngineState, backfill_state: BackfillState, work: int | None) -> None:
    before, backfill_state.head = backfill_state.head, work
    withdrawn = None if before is None or before == work else release_promise(state, before)
    if before is not None and withdrawn is not None:
        backfill_state.withdrawn.setdefault(before, withdrawn)


def wake_after_withdrawals(state: EngineState) -> None:
    """Other work may fit where a promise was withdrawn, unless the former head is head again and was promised the same:
    in a fair order who is first depends on who else has been refused so far, and every cycle would cause another."""
    for backfill_state in state.backfill_states.values():
        for work, promise in backfill_state.withdrawn.items():
            if not promise.equals(state.promises.of_work.get(work)):
                _mark_dirty(state, promise)
        backfill_state.withdrawn.clear()


def release_promise(state: EngineState, work: int) -> Promise | None:
    """Withdraw its promise until it is refused again; capacity that is being cleared for it stays its own."""
    promise = state.promises.of_work.get(work)
    return None if promise is None or promise.clearing else state.promises.withdraw(work)


def started(state: EngineState, work: Work) -> None:
    """The work waits for capacity no longer: the next in order is enqueued before all behind it."""
    if state.promises.of_work:
        _mark_dirty(state, state.promises.withdraw(work.id))
    name = work.shape.scheduler
    backfill_state = state.backfill_states[name]
    if backfill_state.head in (None, work.id):
        backfill_state.head = None
        following = state.pending.first_blocked(name)
        if following is not None and backfill_state.backfill.mode != "off":
            state.pending.enqueue(state.work[following])


def wake_heads(state: EngineState, changed: set[int], elsewhere: Callable[[Work], bool] | None) -> None:
    """Enqueue heads and owners of promises, which their equivalence class does not wake. Work that waits for victims is
    enqueued when they have left its rows, or if it may fit `elsewhere`; None: there is no other free capacity."""
    heads = [one.head for one in state.backfill_states.values() if one.head is not None and len(state.ends)]
    promises = state.promises
    there = {owner for row in changed for owner in promises.on_row(row)}
    concerned = promises.of_work if elsewhere is not None else dict.fromkeys([*promises.not_clearing, *sorted(there)])
    for id_ in (*heads, *concerned):
        work = state.work[id_]
        promise = promises.of_work.get(id_)
        if work.queue_place is not QueuePlace.PARKED:
            continue
        if promise is not None and promise.clearing:
            cleared = id_ in there and not waits_for_victims(state, work)
            if cleared or (elsewhere is not None and elsewhere(work)):
                state.pending.enqueue(work)
        elif work.shape.scheduler not in state.pending.dynamic_orderings:  # those were enqueued when they were sorted
            state.pending.enqueue(work)


def is_clearing(state: EngineState, work: Work) -> bool:
    """Are victims still stopping on rows that were cleared for it?"""
    promise = state.promises.of_work.get(work.id)
    if promise is None or not promise.clearing:
        return False
    return any(is_being_cleared(state, row) for row, _ in promise.rows)


def waits_for_victims(state: EngineState, work: Work) -> bool:
    """The same, unless it fits on those rows while some victims are still there."""
    if not is_clearing(state, work):
        return False
    free, rows = state.cluster.resources.free, state.promises.of_work[work.id].rows
    return not all(bool((free[: len(column), row] >= column).all()) for row, column in rows)


def is_being_cleared(state: EngineState, row: int) -> bool:
    stopping = state.stopping
    return bool(stopping) and any(task in stopping for task in state.cluster.placements.by_row[row])


def plan(state: EngineState, work: Work, now: float) -> None:
    """Promise the workload its earliest start, if that is known."""
    old = state.promises.of_work.get(work.id)
    backfill_state = state.backfill_states[work.shape.scheduler]
    sticky = backfill_state.backfill.head == "sticky"
    as_of = state.wake.event_count
    # Two heads that plan around each other could go on endlessly: nothing has happened since it was promised.
    if old is not None and (old.clearing or sticky or old.as_of == as_of):
        return
    state.promises.withdraw(work.id)
    if is_timetabled(state, work, now):
        _mark_dirty(state, old)
        return
    if not sticky and not len(state.ends) and not state.promises and not state.promises.held:
        # No end and no promise is known: capacity stays as it is now, and now it was refused.
        _mark_dirty(state, old)
        return
    slot = earliest(state, work, now)
    if (
        slot is not None
        and slot.start <= now
        and len(state.ends)
        and is_held_back(state, work, max(1, work.gang_short))
    ):
        slot = Slot(state.ends.first, slot.rows)
    if slot is None or (slot.start <= now and not sticky):
        _mark_dirty(state, old)
        return
    promise = _promise(state, backfill_state, work, slot, as_of)
    state.promises.make(work.id, promise)
    if not promise.equals(old):
        _mark_dirty(state, old)


def earliest(state: EngineState, work: Work, now: float) -> Slot | None:
    """The first slot for its tasks that start together, if run times are as expected and other promises are kept."""
    request = waiting_for_cheaper(state, work, state.asked(work.shape, work.identity), now)
    evaluator = state.pipelines[work.shape.profile].evaluator
    mask = evaluator.run_filters(request, View(state.cluster)).feasible_ignoring_capacity
    run_s = state.expected_s(work)
    column, count = column_with_reserve(state, work), max(1, work.gang_short)
    subject = TrialSubject(work.id, work.shape, work.identity)
    best: Slot | None = None
    # A gang that has to be in one domain is promised capacity in one.
    for place in places_to_clear(state, subject, request, count):
        horizon = state.promises.horizon(now, (work.id,), work.namespace)
        among = mask if place.among is None else mask & place.among
        slot = horizon.earliest(among, column, count, NEVER if run_s is None else run_s)
        if slot is not None and (best is None or slot.start < best.start):
            best = slot
    if best is not None and request.too_dear is not None and best.start > request.too_dear.until:
        return None  # by then it has gone to a dearer node
    return best


def column_with_reserve(state: EngineState, work: Work) -> F8:
    """What must be free for one of its tasks, with the reserve for short work where the cluster has one node."""
    column = state.request(work.shape).column
    ordering = state.pending.dynamic_orderings.get(work.shape.scheduler)
    if ordering is None or len(state.cluster.rows) != 1:
        return column
    (row,) = state.cluster.rows.values()
    free_share = ordering.free_share(state.pending.entry(work))
    asked = column > 0
    return np.where(asked, column + free_share * state.cluster.resources.schedulable[: len(column), row], column)


def is_held_back(state: EngineState, work: Work, together: int) -> bool:
    """Would so many tasks fit, but should wait until something ends, because expected short work would profit more?"""
    ordering = state.pending.dynamic_orderings.get(work.shape.scheduler)
    if ordering is None:
        return False
    share, left = 0.0, 1.0
    for _, amount, free, total in asked_and_free(state, work, max(1, together)):
        share, left = max(share, amount / total), min(left, free / total)
    return 0.0 < share <= left and ordering.holds_back(state.pending.entry(work), share, left)


def asked_and_free(state: EngineState, work: Work, together: int) -> Iterator[tuple[str, float, float, float]]:
    """For each resource that it asks for: its name, the amount, and what is free and schedulable on ready nodes."""
    cluster = state.cluster
    tables, ready = cluster.resources, cluster.status.ready[: cluster.width]
    for resource, amount in work.shape.amounts:
        row = tables.index.get(resource)
        if row is None:
            continue  # no node has any of it, and a filter says so
        free = float(tables.free[row, : cluster.width][ready].sum())
        total = float(tables.schedulable[row, : cluster.width][ready].sum())
        if total > 0.0:
            yield resource, amount * together, free, total


def _promise(state: EngineState, backfill_state: BackfillState, work: Work, slot: Slot, as_of: int) -> Promise:
    run_s = state.expected_s(work)
    column = column_with_reserve(state, work)
    rows = tuple((row, column * len(list(same))) for row, same in groupby(sorted(slot.rows)))
    end = NEVER if run_s is None else slot.start + run_s
    return Promise(work.name, slot.start, end, rows, shareable=backfill_state.backfill.spare, as_of=as_of)


def _mark_dirty(state: EngineState, promise: Promise | None) -> None:
    """Other work may fit now where there was a promise."""
    if promise is not None:
        state.wake.dirty_rows.update(row for row, _ in promise.rows)


def _renew_promises(state: EngineState, scheduler: str) -> None:
    """Renew all promises of a queue in its order: some work may start earlier than promised."""
    for id_ in [id_ for id_ in state.promises.of_work if state.work[id_].shape.scheduler == scheduler]:
        if release_promise(state, id_) is not None and state.work[id_].queue_place is QueuePlace.PARKED:
            state.pending.enqueue(state.work[id_])


def _extension_s(state: EngineState, task: TaskId, at: float, now: float) -> float:
    """How much longer a task is expected to run after its expected end has passed."""
    work = state.work[task.workload]
    since = work.task(task.replica).placed_at
    began = at if since is None else since
    declared_s = work.terms.run_s
    if declared_s is not None and now - began >= declared_s:
        return SOON_S  # its backend is about to end it, if it does not end by itself
    return max(extended_estimate_s(at - began, now - began, declared_s) - (now - began), SOON_S)
