"""Persisted records: the engine changes them, the store keeps them, a restart restores them.

Times are seconds since the epoch. Frequent records are immutable by convention only: frozen dataclasses take
three times as long to create.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.model.command import Bind, Stop
from dovetail.model.node import Node
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.reservation import Target
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.model.workloads.workload import Workload


@dataclass(slots=True)
class WorkloadRecord:
    """The state of a workload. Its definition is stored separately and never changes."""

    id: int
    state: WorkloadState
    reason: str = ""
    message: str = ""
    pending: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    started_at: float | None = None
    finished_at: float | None = None


def spec_text(spec: Workload) -> str:
    """A definition as the store keeps it."""
    return spec.model_dump_json(exclude_unset=True)


class RequestTrace(NamedTuple):
    """What a submission tells of the trace it belongs to: the header `traceparent` as it came, empty without one, and
    when the request came."""

    traceparent: str
    began_at: float


@dataclass(slots=True)
class NewWorkload:
    """An accepted workload: its definition, the part of it that placement needs, and when it was accepted. `trace` is
    for subsystems; it is not stored."""

    id: int
    namespace: str
    name: str
    kind: str
    priority: str
    user: str | None
    service: str | None
    replicas: int
    spec_json: str
    shape_json: str
    submitted_at: float
    queue: str | None = None  # the path of the queue that it waits in
    trace: RequestTrace | None = None

    @staticmethod
    def of(
        id_: int,
        spec: Workload,
        shape_json: str,
        submitted_at: float,
        queue: str,
        spec_json: str | None = None,
        trace: RequestTrace | None = None,
    ) -> "NewWorkload":
        """`spec_json`: what `spec_text` gave before."""
        return NewWorkload(
            id=id_,
            namespace=spec.namespace,
            name=spec.name,
            kind=str(spec.kind),
            priority=str(spec.priority),
            user=spec.user,
            service=spec.service,
            replicas=spec.replicas,
            spec_json=spec_text(spec) if spec_json is None else spec_json,
            shape_json=shape_json,
            submitted_at=submitted_at,
            queue=queue,
            trace=trace,
        )


@dataclass(slots=True)
class TaskRecord:
    """`failures` counts used retries, `bind_failures` refusals by the backend. `devices`: the slots of its GPUs on the
    node, whole or shared."""

    task: TaskId
    state: TaskState
    attempt: int = 0
    node: str | None = None
    backend: str | None = None
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    placed_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    failures: int = 0
    bind_failures: int = 0
    devices: tuple[int, ...] = ()

    @property
    def is_preempted(self) -> bool:
        """It was told to stop because other work needs its capacity."""
        return self.state is TaskState.STOPPING and self.reason == Outcome.PREEMPTING

    @property
    def devices_json(self) -> str | None:
        """`devices` as stored; None for most tasks."""
        return str(list(self.devices)) if self.devices else None


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An attempt that is over while its task goes on: it failed and is retried, or was evicted, preempted or lost. The
    latest attempt of a task is in its `TaskRecord`. An attempt that migrates live has one record for each node that it
    left. `started_at` None: it never ran."""

    task: TaskId
    attempt: int
    node: str
    backend: str
    placed_at: float
    started_at: float | None
    ended_at: float
    reason: str
    message: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """`row` is the node's index in the cluster's tables: of equally good nodes the lower row wins."""

    node: Node
    row: int
    online: bool
    cordoned: bool
    reason: str
    drained: bool = False


@dataclass(frozen=True, slots=True)
class ReservationRecord:
    """Capacity held for a time. `holds`: amounts by node; `target`: the request, used to replace a node that leaves.
    `start` to `end` is the current (`begun`) or next window; `every_s` is the period of the following ones, which start
    no later than `last`. `tenant`: the namespace that may use it; None: no one. `trouble`: what is missing."""

    id: int
    target: Target
    holds: dict[str, Amounts]
    start: float
    end: float
    begun: bool = False
    every_s: float | None = None
    last: float | None = None
    tenant: str | None = None
    holder: str = ""
    trouble: str = ""

    @property
    def status(self) -> str:
        """One word for users."""
        return "degraded" if self.trouble else "active" if self.begun else "planned"


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """One version of a policy, kept for ever. `definition` is JSON, or None if this version is its removal."""

    name: str
    version: int
    at: float
    author: str
    note: str
    definition: str | None


@dataclass(frozen=True, slots=True)
class BackendRecord:
    """A backend that was added at run time. `settings` is JSON without plain-text secrets."""

    name: str
    kind: str
    settings: str
    added_at: float


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token of a node, one with which nodes join: `uses_left` times, until `expires_at`; or one of a browser."""

    id: int
    kind: str
    digest: str
    made_at: float
    node: str | None = None
    expires_at: float | None = None
    uses_left: int | None = None


@dataclass(slots=True)
class Decision:
    """One decision about one task, with its explanation. `node` None: the task stays pending."""

    task: TaskId
    attempt: int
    at: float
    node: str | None
    explanation: Explanation


class Outcomes(NamedTuple):
    """Statistics of a node: succeeded and failed tasks, and the mean slowdown of its tasks as a sum and a weight."""

    succeeded: int
    failed: int
    pace_sum: float = 0.0
    pace_weight: float = 0.0


@dataclass(slots=True)
class HistoryLine:
    """One line of the history, for users and the event stream."""

    at: float
    kind: str
    message: str
    workload: int | None = None
    replica: int | None = None
    node: str | None = None
    backend: str | None = None


@dataclass(slots=True)
class RestoredWorkload:
    """An unfinished workload with all its tasks, as a restart needs it."""

    id: int
    namespace: str
    name: str
    priority: str
    replicas: int
    shape_json: str
    submitted_at: float
    record: WorkloadRecord
    tasks: list[TaskRecord]
    notes: str | None = None


@dataclass(slots=True)
class Snapshot:
    """What a restart restores before the first decision. Nodes are sorted by row; policies in their last version."""

    nodes: list[NodeRecord]
    reservations: list[ReservationRecord]
    cursors: dict[str, int]
    outcomes: dict[str, Outcomes]
    workloads: list[RestoredWorkload]
    outbox: list[Bind | Stop]
    next_workload: int
    next_reservation: int
    memory: dict[str, str] = field(default_factory=dict)
    policies: list[PolicyRecord] = field(default_factory=list)
    announced: dict[str, str] = field(default_factory=dict)  # by node, as its backend announced it, JSON
