"""Sorts pending queues whose order changes with time (`queueing.orderings.DynamicOrdering`) before each cycle.

The workload that is first now gets the promise. Of the other parked workloads, those that could fit beside it are
enqueued again.
"""

from math import nextafter

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER
from dovetail.engine.backfill.backfilling import (
    asked_and_free,
    column_with_reserve,
    is_held_back,
    plan,
    release_promise,
    set_head,
)
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work


def reorder(state: EngineState, now: float) -> None:
    """Sort again the queues where work arrived or something changed."""
    for name in state.pending.dynamic_orderings:
        queue, blocked = state.pending.by_scheduler[name], state.pending.blocked[name]
        has_news = state.wake.unsettled.get(name, state.wake.event_count) != state.wake.event_count
        if has_news:
            del state.wake.unsettled[name]  # set again when work is refused again
        if len(queue) or (len(blocked) and (state.wake.dirty_rows or has_news)):
            state.pending.rekey(name, now)
            _wake_beside_head(state, name, now)


def _wake_beside_head(state: EngineState, scheduler: str, now: float) -> None:
    blocked, backfill_state = state.pending.blocked[scheduler], state.backfill_states[scheduler]
    first = blocked.peek()
    if first is None or not state.cluster.width:
        return
    head = state.work[first]
    set_head(state, backfill_state, first)
    cluster = state.cluster
    free = cluster.resources.free[:, : cluster.width]
    most = free.max(axis=1)
    if _within(column_with_reserve(state, head), most):
        release_promise(state, first)  # no longer first in the order: if refused, it is promised again
        state.pending.enqueue(head)
    elif backfill_state.backfill.promises:
        plan(state, head, now)
    if backfill_state.backfill.strict:
        return
    most_later, start = _free_beside_promise(state, first, free, most, now)
    for id_ in list(blocked):
        work = state.work[id_]
        free_then = most if state.expected_end(work, now) <= start else most_later
        if id_ != first and _within(state.request(work.shape).column, free_then):
            state.pending.enqueue(work)


def _free_beside_promise(state: EngineState, first: int, free: F8, most: F8, now: float) -> tuple[F8, float]:
    """The most that is free for work that still runs when the promise to `first` begins, and when that is."""
    promise = state.promises.of_work.get(first)
    if promise is None or not promise.shareable:
        return most, NEVER
    horizon = state.promises.horizon(now)
    left = free.copy()
    for row, _ in promise.rows:
        left[:, row] = horizon.profile(row).room(now, nextafter(promise.start, NEVER))
    found: F8 = left.max(axis=1)
    return found, promise.start


def _within(column: F8, most: F8) -> bool:
    return bool(np.all(column <= most[: len(column)]))


def short_work_refusal(state: EngineState, work: Work, together: int) -> str | None:
    """Why work has to wait so that some capacity stays free for short work; None if it need not."""
    ordering = state.pending.dynamic_orderings.get(work.shape.scheduler)
    if ordering is None:
        return None
    free_share = ordering.free_share(state.pending.entry(work))
    if free_share > 0.0:
        for resource, amount, free, total in asked_and_free(state, work, together):
            if free - amount < free_share * total - 1e-6:
                return f"long work leaves {free_share:.0%} of the cluster's {resource} free for short work"
    if is_held_back(state, work, together):
        return "short work is expected and would profit more: it waits until running work ends"
    return None
