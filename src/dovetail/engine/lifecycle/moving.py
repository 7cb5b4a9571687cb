"""Moving a task from its node to another, with its capacity held on both sides until it has arrived.

A move begins with one command (`Move`). The source keeps the task's capacity until the backend reports; the target's is
reserved from the decision on (`Recoveries.hold`), and a restart remembers both. A backend that migrates live reports
`TaskMoved`, and the attempt continues on the target, or `MoveRefused`, and it stays if somebody had asked for the move.
For all others, and for those that must leave their node, a move is stop and start: the backend reports the end of the
attempt, and the next one is placed on the target (`recovery.moves.place_arrivals`).

Guarantees: nobody else is given the target's capacity meanwhile. A move whose target is lost or refuses the task ends
like an eviction: the task is queued again. Leaves to others: which tasks should move, and where to.
"""

from dovetail.engine.gangs.requests import request_of
from dovetail.engine.lifecycle.task_lifecycle import requeue, stop_task
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import EVICTING, MIGRATING, MOVING
from dovetail.model.command import Command, Move, Stop, attempt_key
from dovetail.model.event import MoveAsked, MoveRefused, TaskMoved
from dovetail.model.reason import Explanation
from dovetail.model.task import TaskId, TaskState


def move_task(
    state: EngineState, task: TaskId, row: int, reason: str, word: str = MOVING, explanation: Explanation | None = None
) -> list[Command]:
    """Begin a move to the row. A task that is stopping already gets its target, and no other command."""
    target = state.cluster.names[row]
    can_migrate = _can_migrate(state, task, row)
    hold_target(state, task, target, explanation)
    found: list[Command] = []
    for command in stop_task(state, task, reason, word):
        assert isinstance(command, Stop)
        found.append(Move(command.task, command.node, command.backend, command.key, reason, target, can_migrate))
    return found


def _can_migrate(state: EngineState, task: TaskId, row: int) -> bool:
    """May the backend migrate it live? GPUs are chosen when a task arrives, another backend cannot take over what runs,
    and the target must have the capacity now."""
    cluster, work = state.cluster, state.work[task.workload]
    live, column = work.task(task.replica), state.request(work.shape).column
    free = cluster.resources.free[: len(column), row]
    here = cluster.status.backend_of(row) == live.backend
    return live.state is TaskState.RUNNING and here and not live.devices and bool((free >= column).all())


def hold_target(state: EngineState, task: TaskId, node: str, explanation: Explanation | None = None) -> None:
    """Reserve the task's capacity on the node it will come to."""
    column = state.request(state.work[task.workload].shape).column
    state.recoveries.hold(task, node, column, explanation)
    state.changes.notes[task.workload] = None


def move_away(state: EngineState, task: TaskId, reason: str, now: float) -> list[Command]:
    """Move the task to the best other node. Evict it if there is none, or if it is in a gang, which starts together."""
    work = state.work[task.workload]
    if work.group is None and work.task(task.replica).state is not TaskState.STOPPING:
        choice = state.pipelines[work.shape.profile].decide(request_of(state, work, now), str(task))
        if choice.row is not None and choice.row != state.cluster.placements.by_task[task].row:
            return move_task(state, task, choice.row, reason, EVICTING, choice.explanation)
    return stop_task(state, task, reason)


def move_asked(state: EngineState, event: MoveAsked, now: float) -> list[Command]:
    """Ignored unless the task runs elsewhere and the node may take it now."""
    work, row = state.work.get(event.task.workload), state.cluster.rows.get(event.node)
    placement = state.cluster.placements.by_task.get(event.task)
    if work is None or row is None or placement is None or placement.row == row or work.group is not None:
        return []
    if event.task in state.stopping:
        return []
    choice = state.pipelines[work.shape.profile].decide_at(request_of(state, work, now), row)
    if choice is None:
        return []
    return move_task(state, event.task, row, event.reason, MIGRATING, choice.explanation)


def task_moved(state: EngineState, event: TaskMoved, now: float) -> list[Command]:
    """The attempt runs on the target. It is stopped there if it was cancelled or given up meanwhile."""
    cluster, work = state.cluster, state.work.get(event.task.workload)
    live = None if work is None else work.tasks.get(event.task.replica)
    row = cluster.rows.get(event.node)
    if work is None or live is None or row is None:
        return []
    current = live.state.holds_node and attempt_key(event.task, live.attempt) == event.key
    if current and live.node == event.node:  # reports repeat
        return []
    backend = cluster.status.backend_of(row)
    stop = Stop(event.task, event.node, backend, event.key, live.message)
    if not current or live.state is not TaskState.STOPPING:
        return [stop]
    state.recoveries.release(event.task)
    state.changes.notes[work.id] = None
    before = cluster.remove(event.task)
    state.wake.dirty_rows.add(before.row)
    cluster.place(event.task, row, before.column, before.service, before.victim_info, before.identity)
    state.changes.attempt_ended(live.attempt_record(event.task, "moved", f"moved to {event.node}", now))
    live.node = event.node
    state.changes.touch_task(event.task)
    if live.is_cancelled:
        return [stop]
    state.stopping.pop(event.task, None)
    work.move(live, TaskState.RUNNING, "running", f"moved to {event.node}")
    requeue(state, work)
    return []


def move_refused(state: EngineState, event: MoveRefused, now: float) -> list[Command]:  # noqa: ARG001 - as all handlers
    """The attempt still runs where it was. It stays if a user asked for the move, and is stopped if it has to leave."""
    work = state.work.get(event.task.workload)
    live = None if work is None else work.tasks.get(event.task.replica)
    if work is None or live is None or live.state is not TaskState.STOPPING:  # reports repeat
        return []
    if attempt_key(event.task, live.attempt) != event.key or live.node is None or live.backend is None:
        return []
    if live.reason != MIGRATING or live.node in state.cluster.status.drained:
        return [Stop(event.task, live.node, live.backend, event.key, live.message)]
    row = state.recoveries.release(event.task)
    if row is not None:
        state.wake.dirty_rows.add(row)
    state.changes.notes[work.id] = None
    state.stopping.pop(event.task, None)
    work.move(live, TaskState.RUNNING, "running", f"stays on {live.node}: {event.reason}")
    state.changes.touch_task(event.task)
    requeue(state, work)
    return []
