"""Whether the capacity that is being cleared for a preemptor is free yet."""

from dovetail.engine.promises.promises import Promise
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work


def is_clearing(state: EngineState, work: Work) -> bool:
    """Are victims still stopping on rows that were cleared for it?"""
    promise = state.promises.of_work.get(work.id)
    if promise is None or not promise.clearing:
        return False
    return any(is_being_cleared(state, row) for row, _ in promise.rows)


def waits_for_victims(state: EngineState, work: Work) -> bool:
    """The same, unless it fits on those rows while some victims are still there."""
    return is_clearing(state, work) and not _has_room(state, state.promises.of_work[work.id])


def _has_room(state: EngineState, promise: Promise) -> bool:
    free = state.cluster.resources.free
    return all(bool((free[: len(column), row] >= column).all()) for row, column in promise.rows)


def is_being_cleared(state: EngineState, row: int) -> bool:
    stopping = state.stopping
    return bool(stopping) and any(task in stopping for task in state.cluster.placements.by_row[row])
