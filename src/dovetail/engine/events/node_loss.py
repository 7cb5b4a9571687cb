"""Node loss: a node or a whole domain was reported as failed, or has been silent for too long.

Its tasks are lost: each gets a stop command, in case it still runs, and waits for another node. A node reported as
failed stays cordoned until a user uncordons it.
"""

import numpy as np

from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.engine.lifecycle.node_outcomes import record_lost_task
from dovetail.engine.lifecycle.task_lifecycle import end_task, retry_task
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command, Stop, attempt_key
from dovetail.model.event import DomainFailed
from dovetail.model.task import TaskState


def rows_in(state: EngineState, level: str, name: str) -> list[int]:
    """Rows of the domain's nodes. For the level `node`: the node of that name."""
    if level in SINGLE:
        return [state.cluster.rows[name]] if name in state.cluster.rows else []
    column = level_column(state.cluster, level)
    if column is None:
        return []
    present = np.flatnonzero(state.cluster.status.present[: state.cluster.width]).tolist()
    return [row for row in present if column.value(row) == name]


def domain_failed(state: EngineState, event: DomainFailed, now: float) -> list[Command]:
    """All its nodes are lost in one event, so that recovery makes one plan for everything."""
    commands: list[Command] = []
    rows = rows_in(state, event.level, event.name)
    why = f": {event.reason}" if event.reason else ""
    words = f"{event.level} {event.name} failed{why}"
    for row in rows:
        name = state.cluster.names[row]
        state.cluster.set_cordoned(name, True, f"failed with {event.level} {event.name}{why}")
        state.changes.nodes[name] = None
    for row in rows:
        commands += lose_tasks(state, row, "node_failed", words, words, now)
    return commands


def lose_tasks(state: EngineState, row: int, word: str, reason: str, message: str, now: float) -> list[Command]:
    """Treat all tasks on the node as lost. `reason` goes to the backend, `message` into the task records."""
    commands: list[Command] = []
    name = state.cluster.names[row]
    tasks = sorted(state.cluster.placements.by_row[row])
    for task in tasks:
        state.recoveries.lose(task, name)
    for task in tasks:
        work = state.work[task.workload]
        live = work.task(task.replica)
        if live.state is not TaskState.STOPPING:  # otherwise the stop command was sent before
            record_lost_task(state, name)
            assert live.backend is not None
            commands.append(Stop(task, name, live.backend, attempt_key(task, live.attempt), reason))
        state.release(work, task, now)
        if live.is_cancelled:
            commands += end_task(state, task, TaskState.CANCELLED, "cancelled", reason, now)
        else:
            commands += retry_task(state, task, word, message, now)
    return commands


def mark_silent(state: EngineState, name: str, now: float) -> None:
    """Start counting how long the node is silent."""
    after_s = state.settings.recovery.lost_after
    if after_s is not None and name not in state.recoveries.silent:
        state.recoveries.silent[name] = now
        state.timers.set(TimerKind.LOSS, name, now + after_s)


def clear_silence(state: EngineState, name: str) -> None:
    state.recoveries.silent.pop(name, None)
    state.timers.clear(TimerKind.LOSS, name)


def silence_due(state: EngineState, name: str, now: float) -> list[Command]:
    """The node was silent for too long. After a restart the count starts again, since it is not persisted."""
    row = state.cluster.rows.get(name)
    if row is None or state.cluster.status.online[row]:
        return []
    if name not in state.recoveries.silent:
        mark_silent(state, name, now)
        return []
    words = f"{name} has been silent for {now - state.recoveries.silent[name]:.0f} s"
    return lose_tasks(state, row, "node_silent", words, words, now)
