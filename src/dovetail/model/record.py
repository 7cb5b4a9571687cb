"""What is remembered: the rows that the engine changes, the store keeps and a restart restores.

The engine marks what changed; the control loop writes it in one transaction before anybody is told.
Times are seconds since the epoch. The records that are made by the thousand are not frozen only because making frozen
ones takes three times as long; nobody writes to them.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.model.command import Bind, Stop
from dovetail.model.node import Node
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.recovery import RecoveryNote
from dovetail.model.reservation import Target
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.model.workloads.workload import Workload


@dataclass(slots=True)
class WorkloadRecord:
    """The state of a workload; its definition is kept beside it and never changes."""

    id: int
    state: WorkloadState
    reason: str
    message: str
    pending: int
    active: int
    succeeded: int
    failed: int
    cancelled: int
    started_at: float | None
    finished_at: float | None


@dataclass(slots=True)
class NewWorkload:
    """A workload as accepted: definition, the part of it that placement looks at, and when."""

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

    @staticmethod
    def of(id_: int, spec: Workload, shape_json: str, submitted_at: float) -> "NewWorkload":
        return NewWorkload(
            id=id_,
            namespace=spec.namespace,
            name=spec.name,
            kind=str(spec.kind),
            priority=str(spec.priority),
            user=spec.user,
            service=spec.service,
            replicas=spec.replicas,
            spec_json=spec.model_dump_json(exclude_unset=True),
            shape_json=shape_json,
            submitted_at=submitted_at,
        )


@dataclass(slots=True)
class TaskRecord:
    """`failures` and `bind_failures` are what it has used up of its retries and of its backend's refusals; `devices`
    are the slots of the GPUs that it has on its node, or has a share of."""

    task: TaskId
    state: TaskState
    attempt: int
    node: str | None
    backend: str | None
    reason: str
    message: str
    exit_code: int | None
    placed_at: float | None
    started_at: float | None
    finished_at: float | None
    failures: int = 0
    bind_failures: int = 0
    devices: tuple[int, ...] = ()

    @property
    def is_preempted(self) -> bool:
        """It was told to stop because other work needs its room."""
        return self.state is TaskState.STOPPING and self.reason == Outcome.PREEMPTING

    @property
    def devices_json(self) -> str | None:
        """As it is stored; most tasks have none."""
        return str(list(self.devices)) if self.devices else None


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """`row` is the node's place in the cluster's tables: ties between equally good nodes go to the lower one."""

    node: Node
    row: int
    online: bool
    cordoned: bool
    reason: str
    drained: bool = False


@dataclass(frozen=True, slots=True)
class ReservationRecord:
    """Room held for a time: `holds` is what on which node, `target` what was asked for, which finds another node when
    one leaves. From `start` to `end` is the window that is now (`begun`) or comes next; `every_s` brings the following
    ones, none of them beginning after `last`. `tenant` is the namespace that may use the room, None: nobody may.
    `trouble` says what is missing of what was asked for."""

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
        """One word for people."""
        return "degraded" if self.trouble else "active" if self.begun else "planned"


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """One version of a policy, kept for ever. `definition` is its JSON, None where this version is its removal."""

    name: str
    version: int
    at: float
    author: str
    note: str
    definition: str | None


@dataclass(frozen=True, slots=True)
class BackendRecord:
    """A backend that was added while the server ran. `settings` is JSON in which no secret stands in the clear."""

    name: str
    kind: str
    settings: str
    added_at: float


@dataclass(frozen=True, slots=True)
class PolicySwitch:
    """A rule of a policy that began or ended to adjust a constraint: for the history, the log and counting."""

    policy: str
    on: bool
    message: str


@dataclass(slots=True)
class Decision:
    """One answer of the engine about one task, with its explanation. `node` None: it stays pending."""

    task: TaskId
    attempt: int
    at: float
    node: str | None
    explanation: Explanation


class Outcomes(NamedTuple):
    """How tasks fared on a node: how many ended well and how many failed, and a mean of how many times as long as usual
    they took, as its sum and its weight."""

    succeeded: int
    failed: int
    pace_sum: float = 0.0
    pace_weight: float = 0.0


@dataclass(slots=True)
class Changes:
    """Everything that one slice changed, each thing once, in its latest state.

    `cursors`: by profile that chooses in turn, the row chosen last. A row and not a name, so that the turn goes on from
    there also when that node has left.

    `outcomes`: by node, how tasks fared there so far; only nodes where that changed.

    `notes`: by workload, what a restart needs to know beyond its definition and its tasks, as JSON; `memory`: by name,
    what the scheduler learned (past use of tenants, run times), as JSON. `preempted`: tasks told to give way, and
    `switches`: rules of policies that began or ended, `recoveries`: what was done for broken gangs; for counting and
    telling only.

    `policies`: every version made, in order.
    """

    workloads: list[WorkloadRecord] = field(default_factory=list)
    tasks: list[TaskRecord] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    nodes_gone: list[str] = field(default_factory=list)
    reservations: list[ReservationRecord] = field(default_factory=list)
    reservations_gone: list[int] = field(default_factory=list)
    policies: list[PolicyRecord] = field(default_factory=list)
    switches: list[PolicySwitch] = field(default_factory=list)
    recoveries: list[RecoveryNote] = field(default_factory=list)
    cursors: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    memory: dict[str, str] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    preempted: int = 0

    def __bool__(self) -> bool:
        return bool(
            self.workloads
            or self.tasks
            or self.nodes
            or self.nodes_gone
            or self.reservations
            or self.reservations_gone
            or self.policies
            or self.switches
            or self.recoveries
            or self.cursors
            or self.outcomes
            or self.notes
            or self.memory
            or self.decisions
        )


@dataclass(slots=True)
class HistoryLine:
    """One line of what happened, for people and for the event stream."""

    at: float
    kind: str
    message: str
    workload: int | None = None
    replica: int | None = None
    node: str | None = None
    backend: str | None = None


@dataclass(slots=True)
class Batch:
    """One durable step: all of it or none of it."""

    submitted: list[NewWorkload] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)
    outbox: list[Bind | Stop] = field(default_factory=list)
    outbox_done: list[tuple[str, str]] = field(default_factory=list)  # (kind "bind"|"stop", key)
    history: list[HistoryLine] = field(default_factory=list)
    idempotency: list[tuple[str, str, float]] = field(default_factory=list)  # (key, response JSON, at)
    announced: list[tuple[str, str]] = field(default_factory=list)  # (node, JSON of what its backend says of it)

    def __bool__(self) -> bool:
        asked = self.submitted or self.outbox or self.outbox_done or self.idempotency
        return bool(asked or self.changes or self.history or self.announced)


@dataclass(slots=True)
class RestoredWorkload:
    """An unfinished workload as the engine needs it after a restart, with all its tasks."""

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
    """What a restart restores before the first decision; nodes by row; of each policy the last version."""

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
    announced: dict[str, str] = field(default_factory=dict)  # as in Batch, by node
