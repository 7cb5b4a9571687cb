"""Making gangs whole again that lost tasks with their nodes, at the price of as few moves as can be.

A gang that falls below its least because nodes failed keeps the nodes of its other tasks; as soon as all that was lost
in one event is known, and later whenever something changed, one plan is made for all broken gangs (`recovery_planning`,
by `placement.recovery`) and carried out (`recovery_moves`), no more of it at once than may be (`recovery_pace`). Where
no plan is possible the gang holds its nodes for a while, then stands in line again (`recovery_course`).
This module says when which of that is done.
"""

from dovetail.engine.recovery.moves import arrive, has_arrived
from dovetail.engine.recovery.planning import look
from dovetail.engine.recovery.progress import is_planned, tidy
from dovetail.engine.recovery.spares import keep_spares
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command


def after_event(state: EngineState, now: float) -> list[Command]:
    """Whatever happened: what was lost is dealt with at once. In a storm of events, those that were broken before have
    their turn once a second and not again with every event."""
    recoveries = state.recoveries
    fresh = set(recoveries.fresh)
    recoveries.fresh.clear()
    if not recoveries.mending and not recoveries.kept:
        return []
    commands = tidy(state, now)
    if not fresh.isdisjoint(recoveries.mending):
        commands += look(state, now, fresh if now < recoveries.look_at else None)
    return commands


def mend(state: EngineState, now: float) -> list[Command]:
    """At the beginning of a slice, before anybody else is given room."""
    keep_spares(state)
    recoveries = state.recoveries
    if not recoveries.mending and not recoveries.kept:
        return []
    commands = tidy(state, now)
    commands += arrive(state, now)
    if _is_open(state) and recoveries.seen != state.cluster.changes:
        if now >= recoveries.look_at:
            commands += look(state, now)
        else:
            state.timers.set(TimerKind.RECOVERY, None, recoveries.look_at)
    return commands


def is_due(state: EngineState, now: float) -> bool:
    """Would a slice find something to do?"""
    recoveries = state.recoveries
    if _is_open(state) and recoveries.seen != state.cluster.changes and now >= recoveries.look_at:
        return True
    return any(has_arrived(state, task) for task in recoveries.kept)


def recovery_due(state: EngineState, workload: int | None, now: float) -> list[Command]:
    """Its time to hold is over: it is looked at for the last time. None: only a moment to look again."""
    work = None if workload is None else state.work.get(workload)
    if work is None or work.recovery is None or work.recovery.planned:
        return []
    return [*tidy(state, now), *look(state, now)]


def _is_open(state: EngineState) -> bool:
    return any(not is_planned(state.work[id_]) for id_ in state.recoveries.mending if id_ in state.work)
