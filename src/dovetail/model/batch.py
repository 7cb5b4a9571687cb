"""What one turn of the control loop heard, changed and commits.

The engine lists what changed; the loop writes it in one transaction before any command is sent or change published.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import NamedTuple

from dovetail.model.command import Bind, Stop
from dovetail.model.event import Event
from dovetail.model.record import (
    AttemptRecord,
    Decision,
    HistoryLine,
    NewWorkload,
    NodeRecord,
    Outcomes,
    PolicyRecord,
    ReservationRecord,
    TaskRecord,
    WorkloadRecord,
)
from dovetail.model.recovery import RecoveryNote
from dovetail.model.task import TaskState

#: A step is written for what was heard alone, if that is so much.
HEARD_KEPT = 1000


@dataclass(frozen=True, slots=True)
class PolicySwitch:
    """An adjustment of a policy was switched on or off; for history, log and metrics."""

    policy: str
    on: bool
    message: str


class EndedTogether(NamedTuple):
    """So many tasks of a workload, none of which was ever placed, ended with it. They have no records of their own."""

    workload: int
    tasks: int
    state: TaskState
    reason: str
    message: str


@dataclass(slots=True)
class Changes:
    """Everything that one scheduling cycle changed, each record once, in its latest state. `ended_together`,
    `switches`, `recoveries`, `preempted` and `quarantined` are only for metrics and messages."""

    workloads: list[WorkloadRecord] = field(default_factory=list)
    tasks: list[TaskRecord] = field(default_factory=list)
    ended_together: list[EndedTogether] = field(default_factory=list)
    attempts: list[AttemptRecord] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    nodes_gone: list[str] = field(default_factory=list)
    reservations: list[ReservationRecord] = field(default_factory=list)
    reservations_gone: list[int] = field(default_factory=list)
    policies: list[PolicyRecord] = field(default_factory=list)  # every new version, in order
    switches: list[PolicySwitch] = field(default_factory=list)
    recoveries: list[RecoveryNote] = field(default_factory=list)
    cursors: dict[str, int] = field(default_factory=dict)  # by round-robin profile, the row (not node) chosen last
    outcomes: dict[str, Outcomes] = field(default_factory=dict)  # by node
    notes: dict[int, str] = field(default_factory=dict)  # by workload: what a restart needs beside it, as JSON
    memory: dict[str, str] = field(default_factory=dict)  # by name: what the scheduler learned, as JSON
    decisions: list[Decision] = field(default_factory=list)
    preempted: int = 0  # tasks
    quarantined: int = 0  # nodes whose quarantine began

    def __bool__(self) -> bool:
        return any(_changed(self))


_changed = attrgetter(*[one.name for one in fields(Changes) if one.name not in ("preempted", "quarantined")])


class HeardTurn(NamedTuple):
    """What the engine heard in one turn of the loop, in order, Ticks too."""

    at: float
    events: list[Event]


@dataclass(slots=True)
class Batch:
    """One atomic transaction. `at`: when deciding it began; `decided_at`: when that ended. `heard`: the turns that led
    to it, for recordings: its own, and those before it that changed nothing. The store does not keep them."""

    submitted: list[NewWorkload] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)
    outbox: list[Bind | Stop] = field(default_factory=list)
    outbox_done: list[tuple[str, str]] = field(default_factory=list)  # (kind "bind"|"stop", key)
    history: list[HistoryLine] = field(default_factory=list)
    idempotency: list[tuple[str, str, float]] = field(default_factory=list)  # (key, response JSON, at)
    announced: list[tuple[str, str]] = field(default_factory=list)  # (node, JSON announced by its backend)
    at: float = 0.0
    decided_at: float = 0.0
    heard: list[HeardTurn] = field(default_factory=list)

    def __bool__(self) -> bool:
        asked = self.submitted or self.outbox or self.outbox_done or self.idempotency
        return bool(asked or self.changes or self.history or self.announced) or len(self.heard) > HEARD_KEPT
