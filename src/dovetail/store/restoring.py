"""Reading everything a restart needs, in one consistent view.

Guarantees: unfinished workloads only, each with all its replicas in order (finished ones too; those without rows are
filled in by the rule of `unwritten`); nodes by row; the open outbox in the order given; ids that were never used
before. Equal shapes are one string object, so that whoever parses them can do it once a shape.

It runs once a process, over up to hundreds of thousands of rows: rows are taken as the driver's tuples, because the
database layer's row objects would double the time. Whoever calls it pauses the garbage collector, which would only look
at what is kept.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from sqlalchemy import ColumnElement, Connection, Select, func, select

from dovetail.model.command import Bind, GangStart, Move, Stop
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.record import (
    NodeRecord,
    Outcomes,
    PolicyRecord,
    ReservationRecord,
    RestoredWorkload,
    Snapshot,
    TaskRecord,
    WorkloadRecord,
)
from dovetail.model.reservation import Target
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.store import schema
from dovetail.store.contract import StoreError
from dovetail.store.unwritten import with_unwritten

Model = TypeVar("Model", bound=BaseModel)

_TASK_STATES = {str(state): state for state in TaskState}
_WORKLOAD_STATES = {str(state): state for state in WorkloadState}


def restore_snapshot(connection: Connection) -> Snapshot:
    """The connection is in a transaction, which is what makes the parts agree with each other."""
    highest: dict[str, int] = dict(_tuples(connection, select(schema.counters)))
    return Snapshot(
        nodes=_nodes(connection),
        reservations=_reservations(connection),
        cursors=dict(_tuples(connection, select(schema.cursors))),
        outcomes={node: Outcomes(*counts) for node, *counts in _tuples(connection, select(schema.node_outcomes))},
        workloads=_workloads(connection),
        outbox=_outbox(connection),
        next_workload=highest.get("workload", 0) + 1,
        next_reservation=highest.get("reservation", 0) + 1,
        memory=dict(_tuples(connection, select(schema.memory))),
        policies=_policies(connection),
        announced=dict(_tuples(connection, select(schema.node_announcements))),
    )


def _tuples(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    """The driver's own rows: no type read this way needs converting on the way out."""
    cursor: Any = connection.execute(query).cursor
    return iter(cursor)


def _workloads(connection: Connection) -> list[RestoredWorkload]:
    # Neither query sorts: the database would sort whole rows, where sorting ids afterwards is next to nothing.
    unfinished = schema.workloads.c.state.in_(schema.UNFINISHED)
    shape_query = select(schema.shapes.c.id, schema.shapes.c.json).where(
        schema.shapes.c.id.in_(select(schema.workloads.c.shape).where(unfinished))
    )
    shape_texts: dict[int, str] = dict(_tuples(connection, shape_query))
    shared: dict[str, str] = {}  # one string object for every namespace, instead of one a row
    once = shared.setdefault

    columns = schema.workloads.c
    query = select(
        *(columns.id, columns.namespace, columns.name, columns.priority, columns.replicas, columns.shape),
        *(columns.submitted_at, columns.state, columns.reason, columns.message, columns.pending, columns.active),
        *(columns.succeeded, columns.failed, columns.cancelled, columns.started_at, columns.finished_at),
    ).where(unfinished)
    found: dict[int, RestoredWorkload] = {}
    for id_, space, name, priority, replicas, shape, submitted_at, state, *rest in _tuples(connection, query):
        record = WorkloadRecord(id_, _WORKLOAD_STATES[state], *rest)
        found[id_] = RestoredWorkload(
            *(id_, once(space, space), name, once(priority, priority), replicas, shape_texts[shape], submitted_at),
            record=record,
            tasks=[],
        )

    for task in _tasks(connection, unfinished):
        found[task.task.workload].tasks.append(task)
    for id_, notes in _tuples(connection, select(schema.workload_notes)):
        if id_ in found:
            found[id_].notes = notes
    for workload in found.values():
        workload.tasks = with_unwritten(workload.record, workload.tasks, workload.replicas)
    return [found[id_] for id_ in sorted(found)]


def _tasks(connection: Connection, of_workloads: ColumnElement[bool]) -> Iterator[TaskRecord]:
    shared: dict[str | None, str | None] = {}  # as above, for nodes and backends
    once = shared.setdefault
    of_workload = schema.workloads.c.id == schema.tasks.c.workload
    query = select(schema.tasks).join(schema.workloads, of_workload).where(of_workloads)
    for workload, replica, state, attempt, node, backend, *rest, devices in _tuples(connection, query):
        record = TaskRecord(
            *(TaskId(workload, replica), _TASK_STATES[state], attempt, once(node, node), once(backend, backend)), *rest
        )
        if devices is not None:
            record.devices = _slots(devices)
        yield record


def _slots(text: str | None) -> tuple[int, ...]:
    return () if text is None else tuple(orjson.loads(text))


def _nodes(connection: Connection) -> list[NodeRecord]:
    found = []
    query = select(schema.nodes).order_by(schema.nodes.c.row)
    for name, row, definition, online, cordoned, drained, reason in connection.execute(query):
        node = _read(Node, definition, f"node {name!r}")
        found.append(NodeRecord(node, row, online, cordoned, reason, drained))
    return found


def _read(model: type[Model], definition: str, what: str) -> Model:
    try:
        return model.model_validate_json(definition)
    except ValidationError as error:
        raise StoreError(
            f"the stored definition of {what} cannot be read by this version of Dovetail: {error}. "
            f"Start the version that wrote it and remove the {what.split()[0]}, or restore a backup."
        ) from error


def _reservations(connection: Connection) -> list[ReservationRecord]:
    query = select(schema.reservations).order_by(schema.reservations.c.id)
    return [
        ReservationRecord(id_, Target.from_json(target), orjson.loads(holds), *rest)
        for id_, target, holds, *rest in connection.execute(query)
    ]


def _policies(connection: Connection) -> list[PolicyRecord]:
    """The last version of each, also of those that were removed: their numbers go on from there."""
    columns = schema.policies.c
    last = select(columns.name, func.max(columns.version).label("version")).group_by(columns.name).subquery()
    is_last = (columns.name == last.c.name) & (columns.version == last.c.version)
    query = select(schema.policies).join(last, is_last).order_by(columns.name)
    found = [PolicyRecord(*row) for row in _tuples(connection, query)]
    for record in found:
        if record.definition is not None:
            _read(Policy, record.definition, f"policy {record.name!r}")
    return found


def _gang_start(text: str | None) -> GangStart | None:
    if text is None:
        return None
    id_, _, tasks = text.partition("/")
    return GangStart(id_, int(tasks))


def _outbox(connection: Connection) -> list[Bind | Stop]:
    query = select(schema.outbox).order_by(schema.outbox.c.id)
    found: list[Bind | Stop] = []
    for row in _tuples(connection, query):
        _, kind, key, workload, replica, node, backend, reason, devices, migrate_to, gang = row
        task = TaskId(workload, replica)
        if kind == "bind":
            found.append(Bind(task, node, backend, key, _slots(devices), _gang_start(gang)))
        elif migrate_to is None:
            found.append(Stop(task, node, backend, key, reason))
        else:
            found.append(Move(task, node, backend, key, reason, migrate_to, live=True))
    return found
