"""Handlers for workloads: submit, cancel, scheduling deadline, promotion, and work that an adapter reports.

Guarantees: a reported task that is already on a node counts there even if the node has no capacity left, and no command
is sent for it. Its pending tasks are scheduled like any other.
"""

from dovetail.engine.lifecycle.task_lifecycle import (
    await_promotion,
    dequeue,
    end_pending,
    end_workload,
    regroup,
    requeue,
)
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Ending, Group, Work
from dovetail.model.command import Command
from dovetail.model.event import CancelAsked, DisruptionBudgetsSet, Nominated, Submitted, WorkArrived
from dovetail.model.reason import Outcome
from dovetail.model.task import TaskId, TaskState

INCOMPLETE = "group_incomplete"


def submitted(state: EngineState, event: Submitted, now: float) -> list[Command]:
    """Raises what routing raises for an unknown scheduler, profile or queue."""
    spec = event.spec
    terms = event.terms or state.own_terms(spec)
    work = Work(
        id=event.workload,
        namespace=spec.namespace,
        name=spec.name,
        rank=spec.priority.rank,
        replicas=spec.replicas,
        terms=terms,
        queue=state.router.queue(terms.queue, spec.namespace),
        submitted_at=now,
        after=dict(event.after),
    )
    work.waiting.extend(range(spec.replicas))
    if work.after:
        names = [f"{state.work[id_].name} ({condition})" for id_, condition in work.after.items()]
        work.reason, work.message = Outcome.DEPENDENCY, f"starts after {', '.join(names)}"
        state.changes.notes[work.id] = None
    _admit(state, work, now)
    return []


def arrived(state: EngineState, event: WorkArrived, now: float) -> list[Command]:
    """Tasks on unknown nodes are pending, like those without a node."""
    cluster = state.cluster
    work = Work(
        id=event.workload,
        namespace=event.namespace,
        name=event.name,
        rank=event.rank,
        replicas=event.replicas,
        terms=event.terms,
        queue=state.router.queue(event.terms.queue, event.namespace),
        submitted_at=now,
    )
    since = now if event.since is None else event.since
    rows = [cluster.rows.get(name) for name in event.nodes]
    work.waiting.extend(i for i in range(event.replicas) if i >= len(rows) or rows[i] is None)
    placed = [(i, row) for i, row in enumerate(rows[: event.replicas]) if row is not None]
    for replica, row in placed:
        node, backend = cluster.names[row], cluster.status.backend_of(row)
        work.tasks[replica] = LiveTask(
            TaskState.RUNNING, 1, node, backend, "found", f"was on {node} already", placed_at=since, started_at=since
        )
        work.count(TaskState.RUNNING, 1)
        work.started_at = since
        state.changes.tasks[TaskId(work.id, replica)] = None
    _admit(state, work, now)
    if not placed:
        return []
    shape, victim_info, run_s = work.shape, state.victim_info(work, since), state.expected_s(work)
    column = state.request(shape).column
    for replica, row in placed:
        task = TaskId(work.id, replica)
        slots = cluster.place(task, row, column, shape.service_key, victim_info, work.identity, shape.gpus)
        work.tasks[replica].devices = slots
        if run_s is not None:
            state.ends.set(task, since + run_s)
    state.charge(work, len(placed), now)
    return []


def nominated(state: EngineState, event: Nominated, now: float) -> list[Command]:  # noqa: ARG001 - as all handlers
    work = state.work.get(event.workload)
    if work is not None:
        work.nominated = event.node
    return []


def budgets_set(state: EngineState, event: DisruptionBudgetsSet, now: float) -> list[Command]:  # noqa: ARG001
    state.pod_budgets = event.budgets
    return []


def _admit(state: EngineState, work: Work, now: float) -> None:
    """Make the workload live and enqueue its pending tasks."""
    if state.policies:
        work.set_shape(state.policies.effective_shape(work.terms, work.namespace, work.name))
    set_timers(state, work, now)
    state.learned.mix.record_submission(work.shape, work.replicas)
    state.admit(work)
    state.changes.workloads[work.id] = None
    if work.group is not None and not work.group.is_solo:
        _join(state, work.group)


def _join(state: EngineState, group: Group) -> None:
    """The group has a new member and may be complete now."""
    reason = words = ""
    if group.tasks < group.least:
        reason, words = INCOMPLETE, f"its group {group.name} has {group.tasks} of {group.least} tasks"
    for member in group.members.values():
        if member.reason == INCOMPLETE or (reason and not member.reason):
            member.reason, member.message = reason, words
            state.changes.workloads[member.id] = None
    if not reason:
        regroup(state, group)


def set_timers(state: EngineState, work: Work, waits_since: float) -> None:
    """Timers of a pending workload."""
    if work.terms.schedule_within_s is not None:
        state.timers.set(TimerKind.DEADLINE, work.id, work.submitted_at + work.terms.schedule_within_s)
    await_promotion(state, work, waits_since)


def cancel_asked(state: EngineState, event: CancelAsked, now: float) -> list[Command]:
    work = state.work.get(event.workload)
    if work is None:
        return []
    dequeue(state, work)  # while it still counts as what it was queued as
    work.cancelled = True
    return end_workload(state, work, Ending(TaskState.CANCELLED, "cancelled", event.reason), now)


def deadline_passed(state: EngineState, workload: int, now: float) -> list[Command]:
    """Fail the tasks that were never placed."""
    work = state.work.get(workload)
    if work is None or work.cancelled:
        return []
    new = [replica for replica in work.waiting if replica not in work.tasks or not work.tasks[replica].attempt]
    if not new:
        return []
    why = f": {work.message}" if work.message else ""
    message = f"not placed within {work.terms.schedule_within_s:g} s{why}"
    if work.group is None and len(new) == work.replicas:
        return end_workload(state, work, Ending(TaskState.FAILED, "timeout", message), now)
    return end_pending(state, work, new, TaskState.FAILED, "timeout", message, now)


def promoted(state: EngineState, workload: int, now: float) -> list[Command]:
    """It has waited long enough for the next higher priority class."""
    work, promotion = state.work.get(workload), state.settings.promotion
    if work is None or promotion is None or not work.waiting or work.rank <= promotion.most.rank:
        return []
    dequeue(state, work)
    work.rank -= 1
    state.changes.notes[work.id] = None
    requeue(state, work)
    await_promotion(state, work, now)
    return []
