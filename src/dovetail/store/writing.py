"""Writes a batch into the tables.

Guarantees: equal shapes are stored once; a workload that is new in the batch is inserted in its latest state; fresh
tasks of new workloads get no row (see `unwritten`); the batch may say the same thing twice without harm, except for a
workload id that is taken or a record of a workload that is not there, which are errors.

Left to others: the transaction around it and what an error means (`sql`).
"""

import hashlib
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import Connection, Dialect, select

from dovetail.model.batch import Batch, Changes
from dovetail.model.command import Bind, Move, Stop
from dovetail.model.record import (
    Decision,
    HistoryLine,
    NewWorkload,
    NodeRecord,
    Outcomes,
    ReservationRecord,
    TaskRecord,
    WorkloadRecord,
)
from dovetail.model.task import WorkloadState
from dovetail.store import schema
from dovetail.store.node_prices import PriceWriter
from dovetail.store.statements import (
    Row,
    delete_by,
    insert,
    insert_if_absent,
    insert_referring,
    update_by,
    upsert,
)
from dovetail.store.unwritten import is_fresh

# Arithmetic on arrays leaves NumPy numbers in explanations; they are written as the plain numbers they are.
_JSON_OPTIONS = orjson.OPT_SERIALIZE_NUMPY

_DEFINITION = ("id", "namespace", "name", "kind", "priority", "user", "service", "replicas", "spec_json")
_STATE = (
    *("state", "reason", "message", "pending", "active", "succeeded", "failed", "cancelled"),
    *("started_at", "finished_at"),
)
_RESERVATION = ("id", "target", "holds", "start", "end", "begun", "every_s", "last", "tenant", "holder", "trouble")
_NODE = ("name", "row", "definition", "online", "cordoned", "drained", "reason")
_DECISION = ("workload", "replica", "attempt", "at", "node", "outcome", "explanation")
_OUTBOX = ("kind", "key", "workload", "replica", "node", "backend", "reason", "devices", "migrate_to", "gang")
_definition_of = attrgetter(*_DEFINITION)
_state_of = attrgetter(*_STATE)


def shape_digest(shape_json: str) -> bytes:
    return hashlib.blake2b(shape_json.encode(), digest_size=16).digest()


class MissingWorkload(Exception):
    """A state was given for a workload that is not stored."""


class BatchWriter:
    """Holds the statements, compiled for one database."""

    def __init__(self, dialect: Dialect) -> None:
        self._shapes = insert_if_absent(schema.shapes, dialect)
        self._new_workloads = insert_referring(
            schema.workloads, schema.workloads.c.shape, schema.shapes.c.digest, dialect
        ).taking(*_DEFINITION, "shape", "submitted_at", *_STATE, "queue")
        self._workloads = update_by(schema.workloads, "id", _STATE, dialect)
        self._tasks = upsert(schema.tasks, dialect)
        self._attempts = insert_if_absent(schema.attempts, dialect)
        self._nodes = upsert(schema.nodes, dialect).taking(*_NODE)
        self._nodes_gone = delete_by(schema.nodes, ["name"], dialect)
        self._prices = PriceWriter(dialect)
        self._announced = upsert(schema.node_announcements, dialect).taking("node", "said")
        self._announced_gone = delete_by(schema.node_announcements, ["node"], dialect)
        self._outcomes = upsert(schema.node_outcomes, dialect).taking("node", *Outcomes._fields)
        self._outcomes_gone = delete_by(schema.node_outcomes, ["node"], dialect)
        self._reservations = upsert(schema.reservations, dialect).taking(*_RESERVATION)
        self._reservations_gone = delete_by(schema.reservations, ["id"], dialect)
        self._policies = insert_if_absent(schema.policies, dialect)
        self._notes = upsert(schema.workload_notes, dialect).taking("workload", "json")
        self._notes_gone = delete_by(schema.workload_notes, ["workload"], dialect)
        self._noted: set[int] | None = None  # workloads that have a note; read at the first write
        self._memory = upsert(schema.memory, dialect).taking("name", "json")
        self._cursors = upsert(schema.cursors, dialect).taking("profile", "row")
        self._decisions = upsert(schema.decisions, dialect).taking(*_DECISION)
        self._outbox = insert_if_absent(schema.outbox, dialect).taking(*_OUTBOX)
        self._outbox_done = delete_by(schema.outbox, ["kind", "key"], dialect)
        self._history = insert(schema.history, dialect)
        self._idempotency = insert_if_absent(schema.idempotency, dialect).taking("key", "response", "at")
        self._counters = upsert(schema.counters, dialect, raising="value")

        self._workload_row = self._workloads.picker()
        self._task_row = self._tasks.picker(workload="task.workload", replica="task.replica", devices="devices_json")
        self._attempt_row = self._attempts.picker(workload="task.workload", replica="task.replica")
        self._history_row = self._history.picker()
        self._policy_row = self._policies.picker()

    def write(self, connection: Connection, batch: Batch) -> None:
        changes = batch.changes
        new = {workload.id for workload in batch.submitted}
        self._write_workloads(connection, batch.submitted, changes.workloads, new)
        self._tasks.run(connection, map(self._task_row, _worth_a_row(changes.tasks, new)))
        self._attempts.run(connection, map(self._attempt_row, changes.attempts))
        self._decisions.run(connection, map(_decision_row, changes.decisions))
        self._write_notes(connection, changes)

        self._nodes.run(connection, map(_node_row, changes.nodes))
        self._prices.write(connection, changes.nodes, changes.nodes_gone, batch.at)
        self._announced.run(connection, dict(batch.announced).items())
        self._outcomes.run(connection, ((node, *counts) for node, counts in changes.outcomes.items()))
        # Gone after changed: a node that left in this batch leaves nothing behind, whatever the batch says of it.
        self._nodes_gone.run(connection, ((name,) for name in changes.nodes_gone))
        self._announced_gone.run(connection, ((name,) for name in changes.nodes_gone))
        self._outcomes_gone.run(connection, ((name,) for name in changes.nodes_gone))
        self._reservations.run(connection, map(_reservation_row, changes.reservations))
        self._reservations_gone.run(connection, ((gone,) for gone in changes.reservations_gone))
        self._policies.run(connection, map(self._policy_row, changes.policies))
        self._cursors.run(connection, changes.cursors.items())
        self._memory.run(connection, changes.memory.items())

        # Done before new: should one batch hold both for one key, the command is sent once more rather than lost.
        self._outbox_done.run(connection, batch.outbox_done)
        self._outbox.run(connection, map(_outbox_row, batch.outbox))
        self.write_history(connection, batch.history)
        # The first answer to a key stands.
        self._idempotency.run(connection, batch.idempotency)

        highest = [("workload", max(new))] if new else []
        if changes.reservations:
            highest.append(("reservation", max(reservation.id for reservation in changes.reservations)))
        self._counters.run(connection, highest)

    def write_history(self, connection: Connection, lines: Iterable[HistoryLine]) -> None:
        self._history.run(connection, map(self._history_row, lines))

    def _write_workloads(
        self, connection: Connection, submitted: list[NewWorkload], changed: list[WorkloadRecord], new: set[int]
    ) -> None:
        if submitted:
            digests = {text: shape_digest(text) for text in {workload.shape_json for workload in submitted}}
            self._shapes.run(connection, ((digest, text) for text, digest in digests.items()))
            latest = {record.id: record for record in changed if record.id in new}
            self._new_workloads.run(
                connection,
                (
                    (
                        *_definition_of(workload),
                        digests[workload.shape_json],
                        workload.submitted_at,
                        *_state_of(latest.get(workload.id) or _as_accepted(workload)),
                        workload.queue,
                    )
                    for workload in submitted
                ),
            )
        older = [record for record in changed if record.id not in new]
        touched = self._workloads.run(connection, map(self._workload_row, older))
        if touched != len(older):
            raise MissingWorkload(
                f"{len(older) - touched} of {len(older)} workloads whose state changed are not stored (ids "
                f"{min(record.id for record in older)} to {max(record.id for record in older)})"
            )

    def _write_notes(self, connection: Connection, changes: Changes) -> None:
        """Few workloads ever have a note. Those that do are known, so that the others cost nothing when they end."""
        if self._noted is None:
            self._noted = set(connection.scalars(select(schema.workload_notes.c.workload)))
        if changes.notes:
            self._notes.run(connection, changes.notes.items())
            self._noted.update(changes.notes)
        if self._noted:
            ended = [record.id for record in changes.workloads if record.state.finished and record.id in self._noted]
            self._notes_gone.run(connection, ((id_,) for id_ in ended))
            self._noted.difference_update(ended)


def _as_accepted(workload: NewWorkload) -> WorkloadRecord:
    return WorkloadRecord(workload.id, WorkloadState.PENDING, pending=workload.replicas)


def _worth_a_row(records: Iterable[TaskRecord], new: set[int]) -> Iterator[TaskRecord]:
    return (record for record in records if not (record.task.workload in new and is_fresh(record)))


def _text(value: Any) -> str:
    return orjson.dumps(value, option=_JSON_OPTIONS).decode()


def _node_row(record: NodeRecord) -> Row:
    definition = record.node.model_dump_json()
    return (record.node.name, record.row, definition, record.online, record.cordoned, record.drained, record.reason)


def _reservation_row(record: ReservationRecord) -> Row:
    target, holds = record.target.to_json(), _text(record.holds)
    window = (record.start, record.end, record.begun, record.every_s, record.last)
    return (record.id, target, holds, *window, record.tenant, record.holder, record.trouble)


def _decision_row(decision: Decision) -> Row:
    explanation = decision.explanation
    return (
        *decision.task,
        decision.attempt,
        decision.at,
        decision.node,
        explanation.outcome,
        orjson.dumps(explanation, option=_JSON_OPTIONS),
    )


def _outbox_row(command: Bind | Stop) -> Row:
    kind, reason = ("stop", command.reason) if isinstance(command, Stop) else ("bind", "")
    devices = _text(command.devices) if isinstance(command, Bind) and command.devices else None
    migrate_to = command.target if isinstance(command, Move) and command.live else None
    gang = f"{command.gang.id}/{command.gang.tasks}" if isinstance(command, Bind) and command.gang else None
    return (kind, command.key, *command.task, command.node, command.backend, reason, devices, migrate_to, gang)
