"""What the server answers, as types: each is the JSON of one route, with the same names.

Guarantees: a result is plain data (it can be printed as JSON as it is); a newer server may add fields, never take one
away. Times are seconds since the epoch, ages and waits seconds. Amounts of a resource are in the unit people count in:
cores, bytes, GPUs, pieces (`dovetail.client.amounts` writes them for people).
"""

from typing import (
    Any,
    NamedTuple,
    NotRequired,  # those of `typing` cannot be checked at run time before 3.12
)

from typing_extensions import TypedDict


class Accepted(TypedDict):
    id: int
    namespace: str
    name: str


class WorkloadRow(TypedDict):
    """A workload as lists show it."""

    id: int
    namespace: str
    name: str
    kind: str
    priority: str
    user: str | None
    service: str | None
    replicas: int
    submitted_at: float
    state: str
    reason: str
    message: str
    pending: int
    active: int
    succeeded: int
    failed: int
    cancelled: int
    started_at: float | None
    finished_at: float | None


class TaskCounts(TypedDict):
    total: int
    pending: int
    active: int
    succeeded: int
    failed: int
    cancelled: int


class WorkloadDetail(WorkloadRow):
    spec: dict[str, Any]
    tasks: TaskCounts


class WorkloadPage(TypedDict):
    """Newest first; `cursor` asks for the next page, None after the last."""

    items: list[WorkloadRow]
    cursor: str | None


class TaskRow(TypedDict):
    workload: int
    replica: int
    state: str
    attempt: int
    node: str | None
    backend: str | None
    reason: str
    message: str
    exit_code: int | None
    placed_at: float | None
    started_at: float | None
    finished_at: float | None
    failures: int
    bind_failures: int


class NodeTask(TaskRow):
    namespace: str
    name: str


class Step(TypedDict):
    filter: str
    remaining: int
    reason: str


class Candidate(TypedDict):
    node: str
    total: float
    points: dict[str, float]
    load: float


class Shortage(TypedDict):
    resource: str
    needed: str
    best_free: str
    best_node: str
    short_by: str


class Explanation(TypedDict):
    outcome: str
    message: str
    profile: str
    nodes: int
    funnel: list[Step]
    weights: dict[str, float]
    best: list[Candidate]
    shortages: list[Shortage]
    eviction: str
    notes: list[str]


class Decision(TypedDict):
    workload: int
    replica: int
    attempt: int
    at: float
    node: str | None
    outcome: str
    explanation: Explanation


class HistoryLine(TypedDict):
    """`seq` counts up for ever."""

    seq: int
    at: float
    kind: str
    message: str
    workload: int | None
    replica: int | None
    node: str | None


class Explained(TypedDict):
    """`decision` is the latest stored one, `now` what the scheduler would say at this moment about waiting work."""

    workload: WorkloadRow
    state: str
    answer: str
    decision: Decision | None
    now: Explanation | None
    position: int | None


class Refusal(TypedDict):
    filter: str
    reason: str
    message: str
    eviction: str
    resource: NotRequired[str]
    needed: NotRequired[str]
    free: NotRequired[str]


class Points(TypedDict):
    total: float
    scores: dict[str, float]


class WhyNot(TypedDict):
    node: str
    refused: list[Refusal]
    rank: int | None
    feasible: int
    best_node: str | None
    answer: str
    points: Points
    best: list[Candidate]


class PlannedTask(TypedDict):
    replica: int
    node: str | None
    explanation: Explanation


class Plan(TypedDict):
    """`tasks` are those that were tried: the first one that fits nowhere is the last."""

    name: str
    namespace: str
    tasks: list[PlannedTask]
    placed: int
    unplaced: int
    answer: str


class NodeFit(TypedDict):
    node: str
    fits: int


class Capacity(TypedDict):
    total: int
    by_node: list[NodeFit]
    explanation: Explanation
    answer: str


class ResourceUse(TypedDict):
    """`share` is allocated over capacity, 0 where there is none."""

    unit: str
    capacity: float
    allocated: float
    share: float


class NodeResource(ResourceUse):
    reserved: float
    observed: float
    free: float


class NodeRow(TypedDict):
    name: str
    backend: str
    status: str
    reason: str
    online: bool
    cordoned: bool
    drained: bool
    labels: dict[str, str]
    taints: list[str]
    load: float
    tasks: int
    resources: dict[str, NodeResource]


class NodeDetail(NodeRow):
    """`definition` is what would register the node again."""

    definition: dict[str, Any]


class TaskReport(TypedDict):
    """What a node says of one attempt; `state` is running or finished."""

    key: str
    state: str
    exit_code: NotRequired[int | None]
    reason: NotRequired[str]


class RunOrder(TypedDict):
    key: str
    namespace: str
    name: str
    replica: int
    replicas: int
    run: dict[str, Any]
    limits: dict[str, Any]
    deadline: dict[str, Any]


class Orders(TypedDict):
    """What a node is to do. Both lists repeat themselves until the node has reported what they ask for."""

    run: list[RunOrder]
    stop: list[str]


class QueueItem(TypedDict):
    position: int
    id: int
    namespace: str
    name: str
    priority: str
    replicas: int
    pending: int
    waited_s: float
    reason: str
    message: str


class Profile(TypedDict):
    name: str
    default: bool
    built_in: bool
    order: str
    select: str
    filters: list[str]
    scores: dict[str, float]


class Scheduler(TypedDict):
    name: str
    profile: str
    namespaces: list[str]
    node_selector: dict[str, str]


class Profiles(TypedDict):
    default: str
    profiles: list[Profile]
    schedulers: list[Scheduler]


class Reservation(TypedDict):
    id: int
    node: str
    resources: dict[str, str | int]
    until: float
    holder: str


class NodeCounts(TypedDict):
    """Each node once: `online` ones take work, `backend_down` ones would if their backend answered."""

    total: int
    online: int
    cordoned: int
    backend_down: int
    offline: int


class Summary(TypedDict):
    nodes: NodeCounts
    resources: dict[str, ResourceUse]
    workloads: dict[str, int]
    waiting: int
    decisions_total: int
    version: str
    uptime_s: float


class Health(TypedDict):
    status: str
    detail: str


class LogChunk(NamedTuple):
    """Output from a byte offset; `ended` when the task has ended and nothing comes after this."""

    text: str
    next_offset: int
    ended: bool
