"""After a restart: the engine's state from what was remembered.

Whatever held a node holds it again, in the same row, before anything is decided; retries used up stay used up, profiles
that choose in turn go on where they were, and nodes keep their record of tasks that succeeded and failed. Commands that
were not carried out are in the outbox and are sent again by the control loop; the engine need not repeat them.
"""

from heapq import heapify

from dovetail.cluster.placements import Placement
from dovetail.engine.state import EngineState
from dovetail.engine.terms import Terms
from dovetail.engine.work import LiveTask, Work
from dovetail.model.record import NodeRecord, RestoredWorkload, Snapshot, TaskRecord
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workload import Priority


def restore(state: EngineState, snapshot: Snapshot) -> None:
    for record in snapshot.nodes:
        _restore_node(state, record)
    for name, (succeeded, failed) in snapshot.outcomes.items():
        if name in state.cluster.rows:
            state.cluster.set_outcomes(name, succeeded, failed)
    state.set_cursors(snapshot.cursors)
    for reservation in snapshot.reservations:
        if reservation.node in state.cluster.rows:
            state.hold(reservation)
    known: dict[str, Terms] = {}
    placements: list[tuple[TaskId, Placement]] = []
    for restored in snapshot.workloads:
        terms = known.get(restored.shape_json)
        if terms is None:
            terms = known[restored.shape_json] = Terms.from_json(restored.shape_json)
        _restore_work(state, restored, terms, placements)
    state.cluster.place_many(placements)


def _restore_node(state: EngineState, record: NodeRecord) -> None:
    cluster, name = state.cluster, record.node.name
    cluster.join(record.node, record.row)
    if not record.online:
        cluster.set_online(name, False, record.reason)
    if record.cordoned:
        cluster.set_cordoned(name, True, record.reason)
    if record.drained:
        cluster.drained.add(name)


def _restore_work(
    state: EngineState, restored: RestoredWorkload, terms: Terms, placements: list[tuple[TaskId, Placement]]
) -> None:
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
    shape = work.shape
    service = shape.service_key
    for task in restored.tasks:
        node = _restore_task(work, task)
        if node is not None:
            placements.append((task.task, Placement(state.cluster.rows[node], state.request(shape).column, service)))
    heapify(work.waiting)
    state.admit(work)


def _restore_task(work: Work, record: TaskRecord) -> str | None:
    """The node it holds, if it holds one."""
    replica = record.task.replica
    if record.state is TaskState.PENDING and record.attempt == 0:
        work.waiting.append(replica)
        return None
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
        failures=record.failures,
        bind_failures=record.bind_failures,
        evicting=record.reason == "evicting",
    )
    if record.state is TaskState.PENDING:
        work.waiting.append(replica)
    return live.node if record.state.holds_node else None
