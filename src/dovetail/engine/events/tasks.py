"""Handlers for what backends report about one attempt of a task. Stale and repeated reports change nothing."""

from heapq import heappush

from dovetail.engine.events.nodes import start_toleration_timer
from dovetail.engine.lifecycle import node_outcomes, quarantine
from dovetail.engine.lifecycle.task_lifecycle import end_task, fail_workload, requeue, retry_task, stop_task
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import MIGRATING, MOVING, PREEMPTING, RESTARTING, LiveTask
from dovetail.engine.state.work import Work
from dovetail.model.command import Command, attempt_key
from dovetail.model.event import BindFailed, TaskBound, TaskFinished, TaskRestartAsked, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task import WAITS_TO_START, TaskId, TaskState
from dovetail.queueing.settings import backoff_s

#: A task that ran for so long is not in a crash loop, whatever happened before.
CALM_RUN_S = 600.0
CRASHES_OF_A_LOOP = 3
CRASH_LOOP = "crash_loop"


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
        known = (live.reason, live.message) if live.reason == WAITS_TO_START else _accepted(live)
        work.move(live, TaskState.BOUND, *known)
        state.changes.touch_task(event.task)
    return []


def _accepted(live: LiveTask) -> tuple[str, str]:
    return "bound", f"accepted by {live.backend} on {live.node}"


def waiting(state: EngineState, event: TaskWaiting, now: float) -> list[Command]:  # noqa: ARG001
    """Only people read it: nothing is decided by what keeps an accepted attempt from starting."""
    found = _current(state, event.task, event.key)
    if found and found[1].state in (TaskState.PLACED, TaskState.BOUND):
        work, live = found
        live.reason, live.message = (WAITS_TO_START, event.why) if event.why else _accepted(live)
        _tell_what_waits(state, work)
        state.changes.touch_task(event.task)
    return []


def _tell_what_waits(state: EngineState, work: Work) -> None:
    """The workload says of one of its tasks why it has not started."""
    waits = ((replica, live) for replica, live in work.tasks.items() if live.reason == WAITS_TO_START)
    first = next(waits, None)
    if first is not None:
        replica, live = first
        which = f"task {replica}: " if work.replicas > 1 else ""
        work.reason, work.message = WAITS_TO_START, f"{which}{live.message}"
    elif work.reason == WAITS_TO_START:
        work.reason = work.message = ""
    state.changes.workloads[work.id] = None


def started(state: EngineState, event: TaskStarted, now: float) -> list[Command]:
    found = _current(state, event.task, event.key)
    if found and found[1].state in (TaskState.PLACED, TaskState.BOUND):
        work, live = found
        work.move(live, TaskState.RUNNING, "running", f"running on {live.node}")
        live.started_at = now
        quarantine.placement_succeeded(state, live.node)
        work.started_at = work.started_at if work.started_at is not None else now
        if work.reason == WAITS_TO_START:
            _tell_what_waits(state, work)
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
    _learn_from_end(state, event, work, live, now)
    state.release(work, event.task, now)
    live.exit_code = event.exit_code
    if work.terms.restart_always:
        return _start_again(state, event, work, live, now)
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


def _learn_from_end(state: EngineState, event: TaskFinished, work: Work, live: LiveTask, now: float) -> None:
    """What the end of an attempt says about its node, and about how long such work runs."""
    assert live.node is not None
    if event.exit_code is not None:  # None: stopped or lost, which says nothing about outcome and run time
        if event.exit_code == 0 or event.cause is not FailureCause.WORKLOAD:
            state.count_outcome(live.node, event.exit_code == 0)
        began = live.started_at if live.started_at is not None else live.placed_at
        if began is not None:
            state.learned.run_times.finished(state.owner(work), work.terms.run_s, now - began)
            if event.exit_code == 0:
                node_outcomes.record_finished_task(state, work, event.task, live.node, now - began)
    elif live.state is not TaskState.STOPPING and event.cause not in (FailureCause.WORKLOAD, FailureCause.BACKEND):
        node_outcomes.record_lost_task(state, live.node)
    if event.cause is FailureCause.NODE and live.started_at is None:
        quarantine.placement_failed(state, live.node, work, event.reason, event.cause, now)


def _start_again(state: EngineState, event: TaskFinished, work: Work, live: LiveTask, now: float) -> list[Command]:
    """A task of work that stays up has ended, however it did. Its pauses grow with each restart, and are short again
    after a run of `CALM_RUN_S`."""
    if live.is_cancelled or work.cancelled or work.terminal_reason:
        return end_task(state, event.task, TaskState.CANCELLED, "cancelled", event.reason, now)
    if live.is_evicted and live.reason != RESTARTING:
        return retry_task(state, event.task, _EVICTED.get(live.reason, "evicted"), live.message, now)
    began = live.started_at if live.started_at is not None else now
    if event.cause is FailureCause.NODE:  # it says nothing about the work
        live.failures = max(1, live.failures)
    else:
        live.failures = 1 if now - began >= CALM_RUN_S else live.failures + 1
    delay_s = backoff_s(state.settings.backoff, live.failures, state.settings.seed, str(event.task))
    reason = CRASH_LOOP if live.failures >= CRASHES_OF_A_LOOP else "restarted"
    ended = live.message if live.reason == RESTARTING else event.reason or f"exit status {event.exit_code}"
    message = f"{ended}; restart {live.failures} in {delay_s:.1f} s"
    return retry_task(state, event.task, reason, message, now, delay_s)


def restart_asked(state: EngineState, event: TaskRestartAsked, now: float) -> list[Command]:  # noqa: ARG001
    """Ignored for an attempt that has ended or is stopping, and where nothing would start it again."""
    found = _current(state, event.task, event.key)
    if not found or not found[0].terms.restart_always or found[1].state is TaskState.STOPPING:
        return []
    return stop_task(state, event.task, event.reason, RESTARTING)


#: The reason of a task that is pending again, by the reason it was stopped for.
_EVICTED = {PREEMPTING: "preempted", MOVING: "moved", MIGRATING: "moved"}


def bind_failed(state: EngineState, event: BindFailed, now: float) -> list[Command]:
    found = _current(state, event.task, event.key)
    if not found:
        return []
    work, live = found
    node = live.node
    state.release(work, event.task, now)
    passes = event.cause is FailureCause.BACKEND
    live.bind_failures += not passes
    quarantine.placement_failed(state, node, work, event.reason, event.cause, now)
    if live.is_cancelled:
        return end_task(state, event.task, TaskState.CANCELLED, "cancelled", event.reason, now)
    if not passes and live.bind_failures >= state.settings.max_bind_failures:
        return _give_up(state, event, work, live, now)
    tries = min(live.attempt, _MOST_WAITED) if passes else live.bind_failures
    delay_s = backoff_s(state.settings.backoff, max(1, tries), state.settings.seed, str(event.task))
    message = f"{event.reason}; tried again in {delay_s:.1f} s"
    return retry_task(state, event.task, "bind_failed", message, now, delay_s)


#: The backoff of what passes by itself does not grow beyond that of this retry.
_MOST_WAITED = 4


def _give_up(state: EngineState, event: BindFailed, work: Work, live: LiveTask, now: float) -> list[Command]:
    """The task fails. If that is the workload's own fault and none of its tasks ever got further, the others would fail
    for the same reason: the workload fails as a whole."""
    message = f"{live.backend} refused it {live.bind_failures} times: {event.reason}"
    commands = end_task(state, event.task, TaskState.FAILED, "bind_failed", message, now)
    if event.cause is not FailureCause.WORKLOAD or work.done == work.replicas or work.terminal_reason:
        return commands
    if any(one.state in _ACCEPTED for one in work.tasks.values()):
        return commands
    return commands + fail_workload(state, work, "bind_failed", message, now)


_ACCEPTED = (TaskState.BOUND, TaskState.RUNNING, TaskState.SUCCEEDED)


def retry_due(state: EngineState, task: TaskId, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The backoff after a failure is over."""
    work = state.work.get(task.workload)
    if work is not None and work.delayed.pop(task.replica, None) is not None:
        state.changes.notes[work.id] = None
        heappush(work.waiting, task.replica)
        requeue(state, work)
    return []
