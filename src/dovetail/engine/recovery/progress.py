"""The course of a recovery: what of it is over, who goes on holding nodes, and which room is kept for nobody any more.

A broken gang is planned for, and then whole; or it holds its nodes for a while; or it gives them back and stands in
line again, as a whole. Guarantees: whatever became of a gang or a node meanwhile, room that was kept is given back
once.
"""

from dovetail.engine.lifecycle.task_lifecycle import give_nodes_back, requeue
from dovetail.engine.recovery.problem import missing
from dovetail.engine.recovery.wording import RECOVERING, note, replaced_words, what_was_lost
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.task import TaskId, TaskState


def is_planned(work: Work) -> bool:
    """Every missing task of it has room kept for it."""
    return work.recovery is not None and work.recovery.planned


def tidy(state: EngineState, now: float) -> list[Command]:
    """Recoveries that are over one way or the other, and room that is kept for nobody any more."""
    cluster, recoveries = state.cluster, state.recoveries
    for task in list(recoveries.kept):
        work = state.work.get(task.workload)
        live = None if work is None else work.tasks.get(task.replica)
        waits = live is not None and live.state in (TaskState.PENDING, TaskState.STOPPING)
        ended = work is None or work.cancelled or bool(work.terminal_reason) or not waits
        broken_off = work is not None and bool(work.terms.gang_min) and work.recovery is None
        if ended or broken_off or not cluster.ready[cluster.rows[recoveries.kept[task].node]]:
            release(state, task)
    commands: list[Command] = []
    for id_ in list(recoveries.mending):
        commands += tidy_gang(state, id_, now)
    return commands


def tidy_gang(state: EngineState, id_: int, now: float) -> list[Command]:
    recoveries, work = state.recoveries, state.work.get(id_)
    if work is None or work.recovery is None or work.cancelled or work.terminal_reason:
        recoveries.mending.pop(id_)
        if work is not None:
            _close(state, work)
        return []
    if not work.gang_short:
        return _whole(state, work, now)
    if work.holding == work.stopping:  # nothing of it is left to keep
        return give_up(state, work, "nothing of it is left")
    if len(missing(work)) < work.gang_short:
        return give_up(state, work, "others of its tasks are not ready to start")
    if work.recovery.planned and any(TaskId(id_, replica) not in recoveries.kept for replica in missing(work)):
        for replica in missing(work):
            release(state, TaskId(id_, replica))
        work.recovery.planned = False
    return []


def release(state: EngineState, task: TaskId) -> None:
    row = state.recoveries.drop(state.cluster, task)
    state.changes.notes[task.workload] = None
    if row is not None:
        state.wake.dirty_rows.add(row)


def _close(state: EngineState, work: Work) -> None:
    work.recovery = None
    state.recoveries.mending.pop(work.id, None)
    for task in [task for task in state.recoveries.kept if task.workload == work.id]:
        release(state, task)
    state.timers.clear(TimerKind.RECOVERY, work.id)
    state.changes.notes[work.id] = None
    requeue(state, work)


def _whole(state: EngineState, work: Work, now: float) -> list[Command]:
    recovery = work.recovery
    assert recovery is not None
    message = f"gang {work.name} {what_was_lost(work)}{replaced_words(work)}{recovery.words}"
    note(state, work, "whole", message, moved=recovery.moved, took_s=now - recovery.since)
    work.reason = work.message = ""
    state.changes.workloads[work.id] = None
    _close(state, work)
    return []


def give_up(state: EngineState, work: Work, why: str) -> list[Command]:
    """It gives its nodes back and waits like anybody else, as a whole."""
    words = f"{what_was_lost(work)}, {why}"
    note(state, work, "given_up", f"gang {work.name} {words}: gives its nodes back and waits")
    _close(state, work)
    assert work.group is not None
    commands = give_nodes_back(state, work.group, words)
    work.reason, work.message = RECOVERING, f"{words}; waits to start together again"
    state.changes.workloads[work.id] = None
    requeue(state, work)
    return commands


def hold(state: EngineState, work: Work, why: str, now: float, at_least_s: float = 0.0) -> list[Command]:
    """No replacement fits, or not yet."""
    recovery = work.recovery
    assert recovery is not None
    until = recovery.since + max(state.settings.recovery.hold, at_least_s)
    if now >= until:
        return give_up(state, work, why)
    message = f"{what_was_lost(work)}: keeps its nodes for {until - now:.0f} s, in case a replacement comes to fit"
    if work.reason != RECOVERING or work.recovery is None:
        note(state, work, "holding", f"gang {work.name} {message}")
    work.reason, work.message = RECOVERING, message
    state.changes.workloads[work.id] = None
    state.timers.set(TimerKind.RECOVERY, work.id, until)
    return []
