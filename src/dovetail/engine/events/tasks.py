"""Handlers for what backends report about one attempt of a task. Stale and repeated reports change nothing."""

from heapq import heappush

from dovetail.engine.events.nodes import start_toleration_timer
from dovetail.engine.lifecycle import node_outcomes
from dovetail.engine.lifecycle.task_lifecycle import end_task, requeue, retry_task
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.work import Work
from dovetail.model.command import Command, attempt_key
from dovetail.model.event import BindFailed, TaskBound, TaskFinished, TaskStarted
from dovetail.model.task import TaskId, TaskState
from dovetail.queueing.settings import backoff_s


def _current(state: EngineState, task: TaskId, key: str) -> tuple[Work, LiveTask] | None:
    """The task, if `key` is its current attempt and it holds a node."""
    work = state.work.get(task.workload)
    live = work.tasks.get(task.replica) if work else None
    if work is None or live is None or not live.state.holds_node or attempt_key(task, live.attempt) != key:
        return None
    return work, live


def bound(state: EngineState, event: TaskBound, now: float) -> list[Command]:  # noqa: ARG001
    found = _current(state, event.task, event.key)
    if found and found[1].state is TaskState.PLACED:
        work, live = found
        live.bind_failures = 0
        work.move(live, TaskState.BOUND, "bound", f"accepted by {live.backend} on {live.node}")
        node_outcomes.placement_succeeded(state, live.node)
        state.changes.touch_task(event.task)
    return []


def started(state: EngineState, event: TaskStarted, now: float) -> list[Command]:
    found = _current(state, event.task, event.key)
    if found and found[1].state in (TaskState.PLACED, TaskState.BOUND):
        work, live = found
        work.move(live, TaskState.RUNNING, "running", f"running on {live.node}")
        live.started_at = now
        work.started_at = work.started_at if work.started_at is not None else now
        start_toleration_timer(state, event.task, work.shape, now)
        run_s = state.expected_s(work)
        if run_s is not None:
            state.ends.set(event.task, now + run_s)
        state.changes.touch_task(event.task)
    return []


def finished(state: EngineState, event: TaskFinished, now: float) -> list[Command]:
    found = _current(state, event.task, event.key)
    if not found:
        return []
    work, live = found
    assert live.node is not None
    if event.exit_code is not None:  # None: stopped or lost, which says nothing about outcome and run time
        state.count_outcome(live.node, event.exit_code == 0)
        began = live.started_at if live.started_at is not None else live.placed_at
        if began is not None:
            state.learned.run_times.finished(state.owner(work), work.terms.run_s, now - began)
            if event.exit_code == 0:
                node_outcomes.record_finished_task(state, work, event.task, live.node, now - began)
    elif live.state is not TaskState.STOPPING:
        node_outcomes.record_lost_task(state, live.node)
    state.release(work, event.task, now)
    live.exit_code = event.exit_code
    if event.exit_code == 0:
        return end_task(state, event.task, TaskState.SUCCEEDED, "succeeded", "exit status 0", now)
    if event.exit_code is None and live.is_cancelled:
        return end_task(state, event.task, TaskState.CANCELLED, "cancelled", event.reason, now)
    if event.exit_code is None and live.is_evicted:
        return retry_task(state, event.task, _EVICTED.get(live.reason, "evicted"), live.message, now)
    if live.failures < work.terms.retries and not work.cancelled and not work.terminal_reason:
        live.failures += 1
        delay_s = backoff_s(state.settings.backoff, live.failures, state.settings.seed, str(event.task))
        message = f"{event.reason}; retry {live.failures} of {work.terms.retries} in {delay_s:.1f} s"
        return retry_task(state, event.task, "failed", message, now, delay_s)
    return end_task(state, event.task, TaskState.FAILED, "failed", event.reason, now)


#: The reason of a task that is pending again, by the reason it was stopped for.
_EVICTED = {"preempting": "preempted", "moving": "moved"}


def bind_failed(state: EngineState, event: BindFailed, now: float) -> list[Command]:
    found = _current(state, event.task, event.key)
    if not found:
        return []
    work, live = found
    node = live.node
    state.release(work, event.task, now)
    live.bind_failures += 1
    node_outcomes.placement_failed(state, node, event.reason, now)
    if live.is_cancelled:
        return end_task(state, event.task, TaskState.CANCELLED, "cancelled", event.reason, now)
    if live.bind_failures >= state.settings.max_bind_failures:
        message = f"{live.backend} refused it {live.bind_failures} times: {event.reason}"
        return end_task(state, event.task, TaskState.FAILED, "bind_failed", message, now)
    delay_s = backoff_s(state.settings.backoff, live.bind_failures, state.settings.seed, str(event.task))
    message = f"{event.reason}; tried again in {delay_s:.1f} s"
    return retry_task(state, event.task, "bind_failed", message, now, delay_s)


def retry_due(state: EngineState, task: TaskId, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The backoff after a failure is over."""
    work = state.work.get(task.workload)
    if work is not None and work.delayed.pop(task.replica, None) is not None:
        state.changes.notes[work.id] = None
        heappush(work.waiting, task.replica)
        requeue(state, work)
    return []
