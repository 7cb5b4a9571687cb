"""What the engine hears. Time comes beside the event, never inside it."""

from dataclasses import dataclass

from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.requests.terms import Terms
from dovetail.model.reservation import Reservation
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Condition, Workload


@dataclass(frozen=True, slots=True)
class Submitted:
    """`after`: the workloads it has to wait for, of those that it names the ones that have not ended yet."""

    workload: int
    spec: Workload
    after: tuple[tuple[int, Condition], ...] = ()


@dataclass(frozen=True, slots=True)
class WorkArrived:
    """Work of which somebody else has worked out what it asks for, such as the adapter of another system. `nodes`:
    where its first tasks are already; they count there, and nobody is told to start them. `since`: from when on, if not
    from now."""

    workload: int
    namespace: str
    name: str
    rank: int
    terms: Terms
    replicas: int = 1
    nodes: tuple[str, ...] = ()
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Nominated:
    """Somebody expects the work's next task on this node: if it may go there, it does. An empty name takes it back."""

    workload: int
    node: str


@dataclass(frozen=True, slots=True)
class CancelAsked:
    workload: int
    reason: str


@dataclass(frozen=True, slots=True)
class DisruptionBudgetsSet:
    """All disruption budgets of an adapter, instead of those it set before: preemption keeps within them if it can."""

    budgets: tuple[DisruptionBudget, ...]


@dataclass(frozen=True, slots=True)
class NodeJoined:
    """A node is there, or its definition changed; online from now on."""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeLeft:
    """A node is gone for good; what it ran waits for another place."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeHealthChanged:
    """Silent or back. Its tasks keep their capacity: a silent node may well be running them."""

    name: str
    online: bool
    reason: str


@dataclass(frozen=True, slots=True)
class NodeCordoned:
    name: str
    cordoned: bool
    reason: str


@dataclass(frozen=True, slots=True)
class NodeDrained:
    """Cordon it and move its work elsewhere."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class DomainFailed:
    """All nodes of a domain failed at once, as somebody says: what ran there is lost. Level `node`: one node."""

    level: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeObserved:
    """Measured use, which counts instead of allocations where a profile says so."""

    name: str
    used: Amounts


@dataclass(frozen=True, slots=True)
class BackendHealthChanged:
    backend: str
    available: bool
    reason: str


@dataclass(frozen=True, slots=True)
class TaskBound:
    task: TaskId
    key: str


@dataclass(frozen=True, slots=True)
class TaskStarted:
    task: TaskId
    key: str


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """The backend's last word on one attempt. `exit_code` None means it was stopped or lost, as `reason` says."""

    task: TaskId
    key: str
    exit_code: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class TaskMoved:
    """The backend migrated a running attempt: it continues on this node, under the same key."""

    task: TaskId
    key: str
    node: str


@dataclass(frozen=True, slots=True)
class MoveAsked:
    """Somebody wants a running task to continue on another node. Ignored where that node may not take it now."""

    task: TaskId
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class BindFailed:
    """The backend did not take it and is sure of that: nothing runs under this key."""

    task: TaskId
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReservationMade:
    """Somebody asks for room in advance. Taken if it can be met at this moment, else nothing changes: whoever asks
    looks first, and afterwards whether it is there."""

    id: int
    wanted: Reservation


@dataclass(frozen=True, slots=True)
class ReservationReleased:
    id: int


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A policy is there, or another version of it. `author` and `note` say whose change it is and why, if known."""

    policy: Policy
    version: int
    author: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PolicyRemoved:
    """A policy goes, unless live work names it at this moment: whoever asks looks first, and afterwards whether it is
    still there. Its removal is a version of its own."""

    name: str
    version: int
    author: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TopologySet:
    """How the network between the nodes is, instead of what was known of it; an empty one forgets it."""

    topology: Topology


@dataclass(frozen=True, slots=True)
class DistancesSet:
    """Distances, 0 to 100, between two nodes each, in both directions; None takes back what was set."""

    pairs: tuple[tuple[str, str, float | None], ...]


@dataclass(frozen=True, slots=True)
class DistancesCleared:
    """No distance is set by hand any longer."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Go on deciding: at most `limit` decisions, so that a slice stays short."""

    limit: int


Event = (
    Submitted
    | WorkArrived
    | Nominated
    | DisruptionBudgetsSet
    | CancelAsked
    | NodeJoined
    | NodeLeft
    | NodeHealthChanged
    | NodeCordoned
    | NodeDrained
    | DomainFailed
    | NodeObserved
    | BackendHealthChanged
    | TaskBound
    | TaskStarted
    | TaskFinished
    | TaskMoved
    | MoveAsked
    | BindFailed
    | ReservationMade
    | ReservationReleased
    | PolicySet
    | PolicyRemoved
    | TopologySet
    | DistancesSet
    | DistancesCleared
    | Tick
)
