"""Restores the engine's state after a restart, and a finished workload whose failed tasks are to run again.

Tasks hold the same nodes and rows as before, retries stay used up, round-robin profiles continue where they were, and
nodes keep their outcome statistics. Commands that were not executed are in the outbox: the control loop sends them
again, not the engine.
"""

import json
from dataclasses import replace
from heapq import heapify, heappush
from typing import Any

from dovetail.cluster.placements import Placement
from dovetail.engine.events.workloads import set_timers
from dovetail.engine.lifecycle.task_lifecycle import await_promotion, regroup, requeue
from dovetail.engine.recovery.problem import missing
from dovetail.engine.reservations import reservations
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.recoveries import Recovery
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Ending, Work
from dovetail.model.command import Command
from dovetail.model.event import RetryAsked
from dovetail.model.record import NodeRecord, RestoredWorkload, Snapshot, TaskRecord
from dovetail.model.requests.terms import Terms
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.selection import Effect
from dovetail.model.workloads.workload import Condition, Priority
from dovetail.queueing.tree import UnknownQueue

#: Why a task is pending that a user asked for again.
RETRIED = "retried"


def restore(state: EngineState, snapshot: Snapshot) -> None:
    for record in snapshot.nodes:
        _restore_node(state, record)
    for name, outcomes in snapshot.outcomes.items():
        if name in state.cluster.rows:
            state.cluster.set_outcomes(name, outcomes)
    state.pipelines.set_cursors(snapshot.cursors)
    reservations.restore(state, snapshot.reservations)
    state.policies.restore(snapshot.policies)
    state.memory.recall(snapshot.memory)
    known: dict[str, Terms] = {}
    placements: list[tuple[TaskId, Placement]] = []
    for restored in snapshot.workloads:
        terms = known.get(restored.shape_json)
        if terms is None:
            terms = known[restored.shape_json] = Terms.from_json(restored.shape_json)
        _restore_work(state, restored, terms, placements)
    state.cluster.place_many(placements)
    state.pending.forget_ended(state.work)
    for work in state.work.values():
        state.pending.enqueue(work)
    if state.policies.adjusting:
        state.timers.set(TimerKind.ADJUSTMENT, None, 0.0)
    for record in snapshot.nodes:
        if any(taint.effect is Effect.NO_EXECUTE for taint in record.node.taints):
            state.timers.set(TimerKind.EVICTION, record.node.name, 0.0)
        if not record.online and state.settings.recovery.lost_after is not None:
            state.timers.set(TimerKind.LOSS, record.node.name, 0.0)


def _restore_node(state: EngineState, record: NodeRecord) -> None:
    cluster, name = state.cluster, record.node.name
    cluster.join(record.node, record.row)
    if not record.online:
        cluster.set_online(name, False, record.reason)
    if record.cordoned:
        cluster.set_cordoned(name, True, record.reason)
    if record.drained:
        cluster.status.drained.add(name)


def _restore_work(
    state: EngineState, restored: RestoredWorkload, terms: Terms, placements: list[tuple[TaskId, Placement]]
) -> None:
    record = restored.record
    notes = json.loads(restored.notes) if restored.notes else {}
    ending = Ending(TaskState(notes["ending"][0]), *notes["ending"][1:]) if "ending" in notes else None
    work = Work(
        id=restored.id,
        namespace=restored.namespace,
        name=restored.name,
        rank=notes.get("rank", Priority(restored.priority).rank),
        replicas=restored.replicas,
        terms=terms,
        queue=_queue(state, terms, restored.namespace),
        after={int(id_): Condition(condition) for id_, condition in notes.get("after", {}).items()},
        submitted_at=restored.submitted_at,
        reason=record.reason,
        message=record.message,
        started_at=record.started_at,
        cancelled=record.reason == "cancelled",
        ending=ending,
        terminal_reason=ending.reason if ending is not None and ending.state is TaskState.FAILED else "",
    )
    if state.policies:
        work.set_shape(state.policies.effective_shape(terms, work.namespace, work.name))
    state.groups.admit(work, notes.get("group"))  # what is at stake for its tasks follows from it
    shape = work.shape
    service = shape.service_key
    for task in restored.tasks:
        node = _restore_task(work, task)
        if node is None:
            continue
        since = task.placed_at or 0.0
        row, column = state.cluster.rows[node], state.request(shape).column
        victim_info = state.victim_info(work, since)
        placements.append((task.task, Placement(row, column, service, victim_info, work.identity, task.devices)))
        if task.state is TaskState.STOPPING:
            state.stopping[task.task] = None
        run_s = state.expected_s(work)
        if run_s is not None:
            state.ends.set(task.task, (since if task.started_at is None else task.started_at) + run_s)
    for replica, node in notes.get("moves", {}).items():
        if node in state.cluster.rows:
            column = state.request(shape).column
            state.recoveries.hold(TaskId(work.id, int(replica)), node, column)
    if "recovery" in notes and terms.gang_min:
        since, lost = notes["recovery"]["since"], notes["recovery"]["lost"]
        work.recovery = Recovery(since, {int(replica): node for replica, node in lost.items()})
        state.recoveries.broken_gangs[work.id] = None
    _recall_nominations(work, notes)
    work.delayed = {int(replica): at for replica, at in notes.get("delayed", {}).items()}
    for replica, at in work.delayed.items():
        state.timers.set(TimerKind.RETRY, TaskId(work.id, replica), at)
    work.waiting = [replica for replica in work.waiting if replica not in work.delayed]
    heapify(work.waiting)
    if work.recovery is not None:
        work.recovery.planned = all(TaskId(work.id, replica) in state.recoveries.held for replica in missing(work))
    if work.holding:
        state.charge(work, work.holding, record.started_at or restored.submitted_at)
    promotion, promotions = state.settings.promotion, Priority(restored.priority).rank - work.rank
    used_up_s = 0.0 if promotion is None else promotions * promotion.after
    set_timers(state, work, restored.submitted_at + used_up_s)
    state.admit(work)


def _recall_nominations(work: Work, notes: dict[str, Any]) -> None:
    """Those of tasks that were never placed: the others have used theirs."""
    if "application" in notes:
        nominations, work.application = notes["application"]
        new = {replica for replica in work.waiting if replica not in work.tasks}
        work.nominations = {int(replica): node for replica, node in nominations.items() if int(replica) in new}


def retry_asked(state: EngineState, event: RetryAsked, now: float) -> list[Command]:
    """Failed tasks are pending again, with all their retries. Of a finished workload also those that were stopped
    because others failed."""
    work = state.work.get(event.workload)
    if work is None:
        if event.finished is not None:
            _revive(state, event.finished, event.reason, now)
        return []
    if work.cancelled or work.terminal_reason:
        return []
    for replica, live in work.tasks.items():
        if live.state is TaskState.FAILED:
            state.changes.attempt_ended(live.attempt_record(TaskId(work.id, replica), live.state, live.message, now))
            work.move(live, TaskState.PENDING, RETRIED, event.reason)
            work.tasks[replica] = LiveTask(attempt=live.attempt, reason=RETRIED, message=event.reason)
            heappush(work.waiting, replica)
            state.changes.touch_task(TaskId(work.id, replica))
    work.reason, work.message = RETRIED, event.reason
    await_promotion(state, work, now)
    if work.group is not None:
        regroup(state, work.group)
    requeue(state, work)
    return []


def _revive(state: EngineState, finished: RestoredWorkload, reason: str, now: float) -> None:
    """A workload that has ended lives again. It waits since now."""
    if (finished.namespace, finished.name) in state.cluster.placements.directory:
        return
    again = [task.task for task in finished.tasks if task.state is not TaskState.SUCCEEDED]
    for task in finished.tasks:
        if task.state is not TaskState.SUCCEEDED:
            ended = LiveTask.of_record(task).attempt_record(task.task, task.state, task.message, now)
            state.changes.attempt_ended(ended)
    tasks = [task if task.state is TaskState.SUCCEEDED else _pending_again(task, reason) for task in finished.tasks]
    record = replace(finished.record, reason=RETRIED, message=reason)
    notes = json.loads(finished.notes) if finished.notes else {}
    notes.pop("ending", None)
    restored = replace(finished, submitted_at=now, record=record, tasks=tasks, notes=json.dumps(notes))
    _restore_work(state, restored, Terms.from_json(finished.shape_json), [])
    state.ended.pop((finished.namespace, finished.name), None)
    for one in again:
        state.changes.touch_task(one)


def _pending_again(task: TaskRecord, reason: str) -> TaskRecord:
    return TaskRecord(task.task, TaskState.PENDING, task.attempt, reason=RETRIED, message=reason)


def _queue(state: EngineState, terms: Terms, namespace: str) -> int:
    """Its queue, or the default one if the settings no longer have it."""
    try:
        return state.router.queue(terms.queue, namespace)
    except UnknownQueue:
        return state.router.queues.default


def _restore_task(work: Work, record: TaskRecord) -> str | None:
    """Returns the node it holds, if any."""
    replica = record.task.replica
    if record.state is TaskState.PENDING and record.attempt == 0 and not record.message:
        work.waiting.append(replica)
        return None
    work.tasks[replica] = LiveTask.of_record(record)
    if record.state is TaskState.PENDING:
        work.waiting.append(replica)
    work.count(record.state, 1)
    return record.node if record.state.holds_node else None
