"""After a restart: the engine's state from what was remembered.

Whatever held a node holds it again, at the same row order, before anything is decided. Commands that were not
carried out are in the outbox and are sent again by the control loop; the engine need not repeat them.
"""

from heapq import heapify

from dovetail.engine.state import EngineState
from dovetail.engine.terms import Terms
from dovetail.engine.work import LiveTask, Work
from dovetail.model.record import NodeRecord, RestoredWorkload, Snapshot, TaskRecord
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workload import Priority


def restore(state: EngineState, snapshot: Snapshot) -> None:
    for record in snapshot.nodes:
        _restore_node(state, record)
    for reservation in snapshot.reservations:
        if reservation.node in state.cluster.rows:
            state.hold(reservation)
    known: dict[str, Terms] = {}
    for restored in snapshot.workloads:
        terms = known.get(restored.shape_json)
        if terms is None:
            terms = known[restored.shape_json] = Terms.from_json(restored.shape_json)
        _restore_work(state, restored, terms)


def _restore_node(state: EngineState, record: NodeRecord) -> None:
    cluster, name = state.cluster, record.node.name
    cluster.join(record.node)
    if not record.online:
        cluster.set_online(name, False, record.reason)
    if record.cordoned:
        cluster.set_cordoned(name, True, record.reason)
    if record.drained:
        cluster.drained.add(name)


def _restore_work(state: EngineState, restored: RestoredWorkload, terms: Terms) -> None:
    record = restored.record
    work = Work(
        id=restored.id,
        namespace=restored.namespace,
        name=restored.name,
        priority_rank=Priority(restored.priority).rank,
        replicas=restored.replicas,
        retries=terms.retries,
        shape=terms.shape,
        submitted_at=restored.submitted_at,
        reason=record.reason,
        message=record.message,
        started_at=record.started_at,
        cancelled=record.reason == "cancelled",
    )
    for task in restored.tasks:
        _restore_task(state, work, task)
    heapify(work.waiting)
    state.admit(work)


def _restore_task(state: EngineState, work: Work, record: TaskRecord) -> None:
    replica = record.task.replica
    if record.state is TaskState.PENDING and record.attempt == 0:
        work.waiting.append(replica)
        return
    live = work.tasks[replica] = LiveTask(
        state=record.state,
        attempt=record.attempt,
        node=record.node,
        backend=record.backend,
        reason=record.reason,
        message=record.message,
        exit_code=record.exit_code,
        placed_at=record.placed_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        evicting=record.reason == "evicting",
    )
    if record.state is TaskState.PENDING:
        work.waiting.append(replica)
    elif record.state.holds_node:
        assert live.node is not None
        request = state.request(work.shape)
        shape = work.shape
        service = (shape.namespace, shape.service) if shape.service is not None else None
        state.cluster.place(TaskId(work.id, replica), state.cluster.rows[live.node], request.column, service)
