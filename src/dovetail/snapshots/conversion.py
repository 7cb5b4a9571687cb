"""A snapshot document from the records of a restart, and back. Nothing is lost that a decision depends on.

Guarantees: `records_of(document_of(snapshot, …))` restores the same engine. Terms that a file does not have are made
by `terms_of`, which the caller gives: only an engine knows them.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from dovetail.engine.settings import EngineSettings
from dovetail.model.network.topology import Topology
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
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Workload
from dovetail.snapshots.document import (
    FORMAT,
    VERSION,
    SnapshotDistances,
    SnapshotDocument,
    SnapshotNode,
    SnapshotPolicy,
    SnapshotReservation,
    SnapshotSource,
    SnapshotTask,
    SnapshotWorkload,
)
from dovetail.snapshots.redaction import LEFT_OUT, bare_node, without_secrets

_TASK = ("state", "attempt", "node", "backend", "reason", "message", "exit_code", "placed_at", "started_at")
_TASK_FIELDS = (*_TASK, "finished_at", "failures", "bind_failures")
_fields_of_task = attrgetter(*_TASK_FIELDS)
_NETWORK = ("topology", "distances")
TermsText = Callable[[Workload], str]


# --- records to a document -----------------------------------------------------------------------------------------


def document_of(
    snapshot: Snapshot,
    definitions: Mapping[int, str],
    settings: EngineSettings,
    taken_at: float,
    source: SnapshotSource | None = None,
    measured: SnapshotDistances | None = None,
) -> SnapshotDocument:
    """`definitions`: of every workload by id, as the store keeps them."""
    texts: dict[str, int] = {}
    workloads = [_workload(one, definitions[one.id], texts) for one in snapshot.workloads]
    memory = {name: json.loads(text) for name, text in snapshot.memory.items() if name not in _NETWORK}
    topology, distances = (snapshot.memory.get(name) for name in _NETWORK)
    return SnapshotDocument(
        format=FORMAT,
        version=VERSION,
        taken_at=taken_at,
        source=source or SnapshotSource(),
        left_out=list(LEFT_OUT),
        settings=settings,
        topology=None if topology is None else Topology.model_validate_json(topology),
        distances=[] if distances is None else json.loads(distances),
        measured=measured,
        nodes=[_node(record, snapshot.outcomes.get(record.node.name)) for record in snapshot.nodes],
        workloads=workloads,
        terms=[json.loads(text) for text in texts],
        reservations=[_reservation(record) for record in snapshot.reservations],
        policies=[_policy(record) for record in snapshot.policies],
        learned=memory,
        cursors=snapshot.cursors,
        next_workload=snapshot.next_workload,
        next_reservation=snapshot.next_reservation,
    )


def _node(record: NodeRecord, outcomes: Outcomes | None) -> SnapshotNode:
    values = {name: getattr(record, name) for name in ("online", "cordoned", "drained", "reason")}
    values["outcomes"] = None if outcomes is None else tuple(outcomes)
    return SnapshotNode(node=bare_node(record.node), row=record.row, **_said(SnapshotNode, values))


def _said(model: type[BaseModel], values: dict[str, Any]) -> dict[str, Any]:
    """Without what is the default: files stay short."""
    defaults = _defaults(model)
    return {name: value for name, value in values.items() if value != defaults[name]}


@cache
def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    """For comparing with: pydantic would look them up anew for each of many thousand records."""
    fields = model.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields}


def _workload(restored: RestoredWorkload, definition: str, texts: dict[str, int]) -> SnapshotWorkload:
    record = restored.record
    values = {
        "state": record.state,
        "reason": record.reason,
        "message": record.message,
        "started_at": record.started_at,
        "tasks": [_task(task) for task in restored.tasks if not _is_fresh(task)],
        "notes": json.loads(restored.notes) if restored.notes else None,
    }
    return SnapshotWorkload(
        id=restored.id,
        definition=without_secrets(json.loads(definition)),  # the model reads it, once
        submitted_at=restored.submitted_at,
        terms=texts.setdefault(restored.shape_json, len(texts)),
        **_said(SnapshotWorkload, values),
    )


def _is_fresh(task: TaskRecord) -> bool:
    return task.state is TaskState.PENDING and task == TaskRecord(task.task, TaskState.PENDING)


def _task(task: TaskRecord) -> SnapshotTask:
    values = dict(zip(_TASK_FIELDS, _fields_of_task(task), strict=True))
    return SnapshotTask(replica=task.task.replica, **_said(SnapshotTask, values | {"devices": list(task.devices)}))


def _reservation(record: ReservationRecord) -> SnapshotReservation:
    values = {name: getattr(record, name) for name in SnapshotReservation.model_fields}
    return SnapshotReservation(**values | {"target": json.loads(record.target.to_json())})


def _policy(record: PolicyRecord) -> SnapshotPolicy:
    values = {name: getattr(record, name) for name in SnapshotPolicy.model_fields}
    definition = None if record.definition is None else Policy.model_validate_json(record.definition)
    return SnapshotPolicy(**values | {"definition": definition})


# --- a document to records -----------------------------------------------------------------------------------------


def records_of(document: SnapshotDocument, terms_of: TermsText) -> Snapshot:
    """What `Engine.restore` takes. `terms_of`: the terms of a definition, as JSON, where the file has none."""
    texts = [_compact(terms) for terms in document.terms]
    memory = {name: json.dumps(value) for name, value in document.learned.items()}
    if document.topology is not None:
        memory["topology"] = document.topology.model_dump_json(exclude_unset=True, by_alias=True)
    if document.distances:
        memory["distances"] = json.dumps(document.distances)
    nodes = sorted(document.nodes, key=lambda one: one.row)
    return Snapshot(
        nodes=[NodeRecord(_marked(one), one.row, one.online, one.cordoned, one.reason, one.drained) for one in nodes],
        reservations=[_reservation_record(one) for one in document.reservations],
        cursors=dict(document.cursors),
        outcomes={one.node.name: Outcomes(*one.outcomes) for one in nodes if one.outcomes is not None},
        workloads=[
            _restored(one, terms_of(one.definition) if one.terms is None else texts[one.terms])
            for one in sorted(document.workloads, key=lambda one: one.id)
        ],
        outbox=[],
        next_workload=max([document.next_workload, *(one.id + 1 for one in document.workloads)]),
        next_reservation=max([document.next_reservation, *(one.id + 1 for one in document.reservations)]),
        memory=memory,
        policies=[_policy_record(one) for one in document.policies],
    )


def _marked(one: SnapshotNode) -> Node:
    return one.node if not one.marks else one.node.model_copy(update={"labels": {**one.node.labels, **one.marks}})


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _restored(one: SnapshotWorkload, terms: str) -> RestoredWorkload:
    spec = one.definition
    tasks = [TaskRecord(TaskId(one.id, replica), TaskState.PENDING) for replica in range(spec.replicas)]
    for task in one.tasks:
        tasks[task.replica] = _task_record(one.id, task)
    record = WorkloadRecord(
        one.id,
        one.state,
        one.reason,
        one.message,
        pending=sum(task.state is TaskState.PENDING for task in tasks),
        active=sum(task.state.holds_node for task in tasks),
        succeeded=sum(task.state is TaskState.SUCCEEDED for task in tasks),
        failed=sum(task.state is TaskState.FAILED for task in tasks),
        cancelled=sum(task.state is TaskState.CANCELLED for task in tasks),
        started_at=one.started_at,
    )
    return RestoredWorkload(
        id=one.id,
        namespace=spec.namespace,
        name=spec.name,
        priority=str(spec.priority),
        replicas=spec.replicas,
        shape_json=terms,
        submitted_at=one.submitted_at,
        record=record,
        tasks=tasks,
        notes=None if one.notes is None else json.dumps(one.notes),
    )


def _task_record(workload: int, task: SnapshotTask) -> TaskRecord:
    values = {name: getattr(task, name) for name in _TASK_FIELDS}
    return TaskRecord(TaskId(workload, task.replica), devices=tuple(task.devices), **values)


def _reservation_record(one: SnapshotReservation) -> ReservationRecord:
    values = {name: getattr(one, name) for name in SnapshotReservation.model_fields}
    return ReservationRecord(**values | {"target": Target.from_json(json.dumps(one.target))})


def _policy_record(one: SnapshotPolicy) -> PolicyRecord:
    definition = None if one.definition is None else one.definition.model_dump_json(exclude_unset=True)
    return PolicyRecord(one.name, one.version, one.at, one.author, one.note, definition)
