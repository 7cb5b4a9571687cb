"""What a store would remember of an engine, kept in dictionaries: `take_changes` in, a `Snapshot` out."""

from dataclasses import dataclass, field

from dovetail.engine.engine import Engine
from dovetail.model.batch import Changes, PolicySwitch
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
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.store.unwritten import with_unwritten


@dataclass
class Notebook:
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    reservations: dict[int, ReservationRecord] = field(default_factory=dict)
    specs: dict[int, Workload] = field(default_factory=dict)
    terms: dict[int, str] = field(default_factory=dict)
    submitted_at: dict[int, float] = field(default_factory=dict)
    cursors: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    workloads: dict[int, WorkloadRecord] = field(default_factory=dict)
    tasks: dict[TaskId, TaskRecord] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    policies: dict[str, PolicyRecord] = field(default_factory=dict)
    switches: list[PolicySwitch] = field(default_factory=list)
    memory: dict[str, str] = field(default_factory=dict)

    def submitted(self, engine: Engine, id_: int, spec: Workload, now: float) -> None:
        self.specs[id_], self.submitted_at[id_] = spec, now
        self.terms[id_] = engine.terms_json(id_)

    def write(self, changes: Changes) -> None:
        for node in changes.nodes:
            self.nodes[node.node.name] = node
        self.outcomes |= changes.outcomes
        for name in changes.nodes_gone:
            del self.nodes[name]
            self.outcomes.pop(name, None)
        for reservation in changes.reservations:
            self.reservations[reservation.id] = reservation
        for id_ in changes.reservations_gone:
            self.reservations.pop(id_, None)
        self.cursors |= changes.cursors
        self.notes |= changes.notes
        self.memory |= changes.memory
        self.switches += changes.switches
        self.policies |= {policy.name: policy for policy in changes.policies}
        for workload in changes.workloads:
            self.workloads[workload.id] = workload
        for task in changes.tasks:
            self.tasks[task.task] = task

    def unfinished(self) -> list[int]:
        return [id_ for id_, record in sorted(self.workloads.items()) if not record.state.finished]

    def tasks_of(self, id_: int) -> list[TaskRecord]:
        """By replica; one that was never written never left the queue."""
        replicas = self.specs[id_].replicas
        tasks = (TaskId(id_, replica) for replica in range(replicas))
        return with_unwritten(self.workloads[id_], [self.tasks[task] for task in tasks if task in self.tasks], replicas)

    def snapshot(self) -> Snapshot:
        return Snapshot(
            nodes=sorted(self.nodes.values(), key=lambda record: record.row),
            reservations=[self.reservations[id_] for id_ in sorted(self.reservations)],
            cursors=dict(self.cursors),
            outcomes=dict(self.outcomes),
            workloads=[self._restored(id_) for id_ in self.unfinished()],
            outbox=[],
            next_workload=max(self.specs, default=0) + 1,
            next_reservation=max(self.reservations, default=0) + 1,
            memory=dict(self.memory),
            policies=[self.policies[name] for name in sorted(self.policies)],
        )

    def _restored(self, id_: int) -> RestoredWorkload:
        spec = self.specs[id_]
        return RestoredWorkload(
            id=id_,
            namespace=spec.namespace,
            name=spec.name,
            priority=str(spec.priority),
            replicas=spec.replicas,
            shape_json=self.terms[id_],
            submitted_at=self.submitted_at[id_],
            record=self.workloads[id_],
            tasks=self.tasks_of(id_),
            notes=self.notes.get(id_),
        )
