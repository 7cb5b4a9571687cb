"""Events for the engine. The time is passed beside the event, never inside it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.failure_cause import FailureCause
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.record import RestoredWorkload
from dovetail.model.requests.terms import Terms
from dovetail.model.reservation import Reservation
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Condition, Workload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Event:
    """What the engine handles: a report, or a wish of a user."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Submitted(Event):
    """`after`: the unfinished workloads that it depends on. `terms`: what follows from its definition, if that was
    computed before (`Admission.terms_of`)."""

    workload: int
    spec: Workload
    after: tuple[tuple[int, Condition], ...] = ()
    terms: Terms | None = None


@dataclass(frozen=True, slots=True)
class WorkArrived(Event):
    """Work from an adapter that has computed its terms. `nodes`: where its first tasks run already; they count there,
    and no command is sent for them. `since`: their start, if not now."""

    workload: int
    namespace: str
    name: str
    rank: int
    terms: Terms
    replicas: int = 1
    nodes: tuple[str, ...] = ()
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Nominated(Event):
    """Prefer this node for the work's next task if it passes the filters. An empty name removes the nomination."""

    workload: int
    node: str


@dataclass(frozen=True, slots=True)
class CancelAsked(Event):
    workload: int
    reason: str


@dataclass(frozen=True, slots=True)
class RetryAsked(Event):
    """A user wants the failed tasks of a workload to run again. `finished`: the workload as it ended, if it has ended.
    Ignored where another workload has its name now."""

    workload: int
    reason: str
    finished: RestoredWorkload | None = None


@dataclass(frozen=True, slots=True)
class DisruptionBudgetsSet(Event):
    """All disruption budgets of an adapter, instead of those it set before: preemption keeps within them if it can."""

    budgets: tuple[DisruptionBudget, ...]


@dataclass(frozen=True, slots=True)
class NodeJoined(Event):
    """A node joined, or its definition changed. It is online from now on."""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeLeft(Event):
    """A node left for good. Its tasks are pending again."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeHealthChanged(Event):
    """A node is silent, or back. Its tasks keep their capacity: a silent node may still run them."""

    name: str
    online: bool
    reason: str


@dataclass(frozen=True, slots=True)
class NodeCordoned(Event):
    name: str
    cordoned: bool
    reason: str


@dataclass(frozen=True, slots=True)
class NodeDrained(Event):
    """Cordon the node and move its tasks elsewhere."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class DomainFailed(Event):
    """All nodes of a domain were reported as failed: their tasks are lost. Level `node`: a single node."""

    level: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeObserved(Event):
    """Measured usage, which some profiles use instead of allocations."""

    name: str
    used: Amounts


@dataclass(frozen=True, slots=True)
class BackendHealthChanged(Event):
    backend: str
    available: bool
    reason: str


@dataclass(frozen=True, slots=True)
class TaskBound(Event):
    task: TaskId
    key: str


@dataclass(frozen=True, slots=True)
class TaskStarted(Event):
    task: TaskId
    key: str


@dataclass(frozen=True, slots=True)
class TaskWaiting(Event):
    """The backend has accepted the attempt, which has not started: why not, in words. Empty: nothing is known to be in
    its way any more."""

    task: TaskId
    key: str
    why: str


@dataclass(frozen=True, slots=True)
class TaskFinished(Event):
    """The backend's final report on one attempt. `exit_code` None: it was stopped or lost, see `reason`. `cause`: whose
    fault a failure is, if the backend knows."""

    task: TaskId
    key: str
    exit_code: int | None
    reason: str
    cause: FailureCause = FailureCause.UNKNOWN


@dataclass(frozen=True, slots=True)
class TaskMoved(Event):
    """The backend migrated a running attempt: it continues on this node, under the same key."""

    task: TaskId
    key: str
    node: str


@dataclass(frozen=True, slots=True)
class MoveRefused(Event):
    """The backend could not migrate a running attempt: it runs on where it was."""

    task: TaskId
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskRestartAsked(Event):
    """A running attempt is to be stopped and its task started again: it fails its health check."""

    task: TaskId
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class MoveAsked(Event):
    """Somebody wants a running task to continue on another node. Ignored where that node may not take it now."""

    task: TaskId
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class PreemptionAsked(Event):
    """Somebody wants these tasks to be stopped for a workload that waits. Ignored where that does not help now."""

    workload: int
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class BindFailed(Event):
    """The backend refused the task for certain: nothing runs under this key."""

    task: TaskId
    key: str
    reason: str
    cause: FailureCause = FailureCause.UNKNOWN


@dataclass(frozen=True, slots=True)
class ReservationMade(Event):
    """A user asks for a reservation. It is made if it can be met now, otherwise nothing changes. The caller checks
    before, and looks afterwards whether it exists."""

    id: int
    wanted: Reservation


@dataclass(frozen=True, slots=True)
class ReservationReleased(Event):
    id: int


@dataclass(frozen=True, slots=True)
class PolicySet(Event):
    """A policy was created or changed. `author` and `note` say who changed it and why, if known."""

    policy: Policy
    version: int
    author: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PolicyRemoved(Event):
    """Remove a policy, unless live work names it. The caller checks before, and looks afterwards whether it is gone.
    The removal is a version of its own."""

    name: str
    version: int
    author: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TopologySet(Event):
    """Replace the network description. An empty one removes it."""

    topology: Topology


@dataclass(frozen=True, slots=True)
class DistancesSet(Event):
    """Set distances (0 to 100, symmetric) between pairs of nodes. None removes one."""

    pairs: tuple[tuple[str, str, float | None], ...]


@dataclass(frozen=True, slots=True)
class DistancesCleared(Event):
    """Remove all distances that were set by hand."""


@dataclass(frozen=True, slots=True, eq=False)
class DistancesMeasured(Event):
    """What is known of the network from measurements, all of it: it replaces what was known before.

    `distance` is float32[node, node], symmetric, 0 to 100; nan is a pair of which nothing is known.
    """

    names: tuple[str, ...]
    distance: "npt.NDArray[np.float32]"


@dataclass(frozen=True, slots=True)
class Tick(Event):
    """Run a scheduling cycle of at most `limit` decisions, so that the cycle stays short. `by_effort`: a decision for a
    shape that is new counts for several."""

    limit: int
    by_effort: bool = False
