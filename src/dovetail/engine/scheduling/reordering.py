"""Lines whose order moves with time (`queueing.orderings.Moving`): sorted anew before each pass.

Who stands first now gets the promise, and of the others those are looked at again that could find room beside it.
"""

from math import nextafter

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER
from dovetail.engine.backfill.backfilling import lane_column, plan, release_head_promise, set_head
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work


def reorder(state: EngineState, now: float) -> None:
    """Before deciding, where something has come or changed."""
    for name in state.pending.moving:
        line, blocked = state.pending.lines[name], state.pending.blocked[name]
        event_count = state.wake.unsettled.get(name, state.wake.event_count) != state.wake.event_count
        if event_count:
            del state.wake.unsettled[name]  # who is refused again says so
        if len(line) or (len(blocked) and (state.wake.dirty_rows or event_count)):
            state.pending.rekey(name, now)
            _look_again(state, name, now)


def _look_again(state: EngineState, scheduler: str, now: float) -> None:
    blocked, course = state.pending.blocked[scheduler], state.backfill_states[scheduler]
    first = blocked.peek()
    if first is None or not state.cluster.width:
        return
    head = state.work[first]
    set_head(state, course, first)
    cluster = state.cluster
    free = cluster.resources.free[:, : cluster.width]
    most = free.max(axis=1)
    if _within(lane_column(state, head), most):
        release_head_promise(state, first)  # who now sorts before it owes it nothing; refused, it is promised anew
        state.pending.enqueue(head)
    elif course.backfill.promises:
        plan(state, head, now)
    if course.backfill.strict:
        return
    most_later, start = _beside(state, first, free, most, now)
    for id_ in list(blocked):
        work = state.work[id_]
        run_s = state.expected_s(work)
        ends = NEVER if run_s is None else now + run_s
        if id_ != first and _within(state.request(work.shape).column, most if ends <= start else most_later):
            state.pending.enqueue(work)


def _beside(state: EngineState, first: int, free: F8, most: F8, now: float) -> tuple[F8, float]:
    """What work can hope for that still runs when the promise to the first begins, and when that is."""
    promise = state.promises.of_work.get(first)
    if promise is None or not promise.spare:
        return most, NEVER
    horizon = state.promises.horizon(now)
    left = free.copy()
    for row, _ in promise.rows:
        left[:, row] = horizon.profile(row).room(now, nextafter(promise.start, NEVER))
    found: F8 = left.max(axis=1)
    return found, promise.start


def _within(column: F8, most: F8) -> bool:
    return bool(np.all(column <= most[: len(column)]))


def lane_refusal(state: EngineState, work: Work, together: int) -> str | None:
    """Long work may not take the last of the cluster: why it has to wait, if it does."""
    moving = state.pending.moving.get(work.shape.scheduler)
    lane = moving.lane(state.pending.entry(work)) if moving is not None else 0.0
    if lane <= 0.0:
        return None
    cluster = state.cluster
    tables, ready = cluster.resources, cluster.ready[: cluster.width]
    for resource, amount in work.shape.amounts:
        row = tables.index.get(resource)
        if row is None:
            continue  # no node has any of it, and a filter says so
        free = float(tables.free[row, : cluster.width][ready].sum())
        total = float(tables.schedulable[row, : cluster.width][ready].sum())
        if free - amount * together < lane * total - 1e-6:
            return f"long work leaves {lane:.0%} of the cluster's {resource} free for short work"
    return None
