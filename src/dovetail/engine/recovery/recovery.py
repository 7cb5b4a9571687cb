"""Recovers gangs that lost tasks with failed nodes, with as few moves as possible. This module decides when.

A gang that falls below its minimum because of failed nodes keeps the nodes of its other tasks. After the event that
lost them, and later whenever the cluster changed, one plan is made for all broken gangs (`planning`) and executed
(`moves`). If no plan fits, the gang keeps its nodes for a while and is then enqueued again (`progress`).
"""

from dovetail.engine.recovery.moves import can_be_placed, place_arrivals
from dovetail.engine.recovery.planning import plan_and_execute
from dovetail.engine.recovery.progress import clean_up, is_planned
from dovetail.engine.recovery.spares import update_spares
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command


def after_event(state: EngineState, now: float) -> list[Command]:
    """After any event: handle new losses at once. Gangs that were broken before are searched at most once a second,
    so that a burst of events does not start a search each."""
    recoveries = state.recoveries
    newly_lost = set(recoveries.newly_lost)
    recoveries.newly_lost.clear()
    if not recoveries.broken_gangs and not recoveries.held:
        return []
    commands = clean_up(state, now)
    if not newly_lost.isdisjoint(recoveries.broken_gangs):
        commands += plan_and_execute(state, now, newly_lost if now < recoveries.next_search_at else None)
    return commands


def run_recovery(state: EngineState, now: float) -> list[Command]:
    """At the start of a scheduling cycle, before other work is placed."""
    update_spares(state)
    recoveries = state.recoveries
    if not recoveries.broken_gangs and not recoveries.held:
        return []
    commands = clean_up(state, now)
    commands += place_arrivals(state, now)
    if _is_open(state) and recoveries.seen != state.cluster.changes:
        if now >= recoveries.next_search_at:
            commands += plan_and_execute(state, now)
        else:
            state.timers.set(TimerKind.RECOVERY, None, recoveries.next_search_at)
    return commands


def is_due(state: EngineState, now: float) -> bool:
    """Would a scheduling cycle find something to do?"""
    recoveries = state.recoveries
    if _is_open(state) and recoveries.seen != state.cluster.changes and now >= recoveries.next_search_at:
        return True
    return any(can_be_placed(state, task) for task in recoveries.held)


def recovery_due(state: EngineState, workload: int | None, now: float) -> list[Command]:
    """The gang's hold time is over: search a last time. `workload` None: the timer only asked for a Tick."""
    work = None if workload is None else state.work.get(workload)
    if work is None or work.recovery is None or work.recovery.planned:
        return []
    return [*clean_up(state, now), *plan_and_execute(state, now)]


def _is_open(state: EngineState) -> bool:
    return any(not is_planned(state.work[id_]) for id_ in state.recoveries.broken_gangs if id_ in state.work)
