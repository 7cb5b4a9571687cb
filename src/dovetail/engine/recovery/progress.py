"""The state of each recovery: finish it, keep the gang's nodes while no plan fits, or give up and release them.

A gang that gives up releases its nodes and is enqueued again as a whole. Guarantees: whatever happens to a gang or a
node meanwhile, held capacity is released exactly once.
"""

from dovetail.engine.lifecycle.task_lifecycle import give_nodes_back, requeue
from dovetail.engine.recovery.problem import missing
from dovetail.engine.recovery.wording import RECOVERING, describe_losses, describe_replacements, record_note
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.task import TaskId, TaskState


def is_planned(work: Work) -> bool:
    """Capacity is held for every missing task."""
    return work.recovery is not None and work.recovery.planned


def clean_up(state: EngineState, now: float) -> list[Command]:
    """Close finished recoveries, and release capacity that no task needs any more."""
    cluster, recoveries = state.cluster, state.recoveries
    for task in list(recoveries.held):
        work = state.work.get(task.workload)
        live = None if work is None else work.tasks.get(task.replica)
        waits = live is not None and live.state in (TaskState.PENDING, TaskState.STOPPING)
        ended = work is None or work.cancelled or bool(work.terminal_reason) or not waits
        broken_off = work is not None and bool(work.terms.gang_min) and work.recovery is None
        if ended or broken_off or not cluster.status.ready[cluster.rows[recoveries.held[task].node]]:
            release(state, task)
    commands: list[Command] = []
    for id_ in list(recoveries.broken_gangs):
        commands += clean_up_gang(state, id_, now)
    return commands


def clean_up_gang(state: EngineState, id_: int, now: float) -> list[Command]:
    recoveries, work = state.recoveries, state.work.get(id_)
    if work is None or work.recovery is None or work.cancelled or work.terminal_reason:
        recoveries.broken_gangs.pop(id_)
        if work is not None:
            _close(state, work)
        return []
    if not work.gang_short:
        recovery = work.recovery
        message = f"gang {work.name} {describe_losses(work)}{describe_replacements(work)}{recovery.moves_text}"
        record_note(state, work, "whole", message, moved=recovery.moved, took_s=now - recovery.since)
        work.reason = work.message = ""
        state.changes.workloads[id_] = None
        _close(state, work)
        return []
    if work.holding == work.stopping:  # no task holds a node any more
        return give_up(state, work, "nothing of it is left")
    if len(missing(work)) < work.gang_short:
        return give_up(state, work, "others of its tasks are not ready to start")
    if work.recovery.planned and any(TaskId(id_, replica) not in recoveries.held for replica in missing(work)):
        for replica in missing(work):
            release(state, TaskId(id_, replica))
        work.recovery.planned = False
    return []


def release(state: EngineState, task: TaskId) -> None:
    row = state.recoveries.release(task)
    state.changes.notes[task.workload] = None
    if row is not None:
        state.wake.dirty_rows.add(row)


def _close(state: EngineState, work: Work) -> None:
    work.recovery = None
    state.recoveries.broken_gangs.pop(work.id, None)
    for task in [task for task in state.recoveries.held if task.workload == work.id]:
        release(state, task)
    state.timers.clear(TimerKind.RECOVERY, work.id)
    state.changes.notes[work.id] = None
    requeue(state, work)


def give_up(state: EngineState, work: Work, why: str) -> list[Command]:
    """Release the gang's nodes and enqueue it as a whole."""
    words = f"{describe_losses(work)}, {why}"
    record_note(state, work, "given_up", f"gang {work.name} {words}: releases its nodes and waits")
    _close(state, work)
    assert work.group is not None
    commands = give_nodes_back(state, work.group, words)
    work.reason, work.message = RECOVERING, f"{words}; waits to start together again"
    state.changes.workloads[work.id] = None
    requeue(state, work)
    return commands


def keep_nodes(state: EngineState, work: Work, why: str, now: float, at_least_s: float) -> list[Command]:
    """No plan fits now: the gang keeps its nodes until the hold time is over."""
    recovery = work.recovery
    assert recovery is not None
    until = recovery.since + max(state.settings.recovery.hold, at_least_s)
    if now >= until:
        return give_up(state, work, why)
    message = f"{describe_losses(work)}: keeps its nodes for {until - now:.0f} s, in case a replacement fits"
    if work.reason != RECOVERING:
        record_note(state, work, "holding", f"gang {work.name} {message}")
    work.reason, work.message = RECOVERING, message
    state.changes.workloads[work.id] = None
    state.timers.set(TimerKind.RECOVERY, work.id, until)
    return []
