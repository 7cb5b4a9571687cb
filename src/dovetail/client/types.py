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


class Start(TypedDict):
    """When waiting work will probably start: expected, not before, not after; None where nobody can tell."""

    starts_at: float | None
    starts_early: float | None
    starts_late: float | None


class WorkloadDetail(WorkloadRow, Start):
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
    devices: list[int]  # slots of the GPUs it has on its node


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
    backend: str | None


class CoreMember(TypedDict):
    """One of the requirements that no node satisfies together; `nodes_alone` satisfy it if nothing else is asked."""

    requirement: str
    field: str
    nodes_alone: int


class Suggestion(TypedDict):
    """Something with which the whole workload was placed when it was tried: a JSON merge patch of its definition, or an
    action such as {"uncordon": "n3"}, {"evict": ["default/batch-7.0"]} or {"wait_until": 1700000000.0}."""

    words: str
    kind: str
    patch: dict[str, Any] | None
    action: dict[str, Any] | None


class Impasse(TypedDict):
    """Why work that waits cannot be placed, and what would help. The core is empty where some node would take a task,
    and `waits_for` says what is missing then; `core_exact` says that no smaller core exists."""

    core: list[CoreMember]
    core_exact: bool
    waits_for: str
    suggestions: list[Suggestion]


class Explained(Start, Impasse):
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


class VictimRow(TypedDict):
    """A task that would have to give way; `lost_s` of its work would be done again."""

    workload: int
    replica: int
    namespace: str
    name: str
    priority: str
    node: str
    lost_s: float


class Displacement(TypedDict):
    """So many tasks of a plan would fit if the victims gave way."""

    tasks: int
    victims: list[VictimRow]


class Communication(TypedDict):
    """How long a gang would take to exchange so much data between its ranks, and how long at best; `busiest` is what
    holds it up."""

    ranks: int
    nodes: int
    size_bytes: int
    all_reduce_s: float
    all_reduce_best_s: float
    algorithm: str
    all_to_all_s: float
    all_to_all_best_s: float
    busiest: str
    message: str


class Plan(Impasse):
    """`tasks` are those that were tried: the first one that fits nowhere is the last. `over_quota` is the reason where
    a limit of its queue stands in the way, `displaces` who would have to give way for what does not fit.
    `communication` is there for gangs that would lie on several nodes of a network that somebody described."""

    name: str
    namespace: str
    tasks: list[PlannedTask]
    placed: int
    unplaced: int
    queue: str
    over_quota: str | None
    displaces: Displacement | None
    communication: NotRequired[Communication | None]
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


class NodeGpu(TypedDict):
    """One GPU of a node; `used` in thousandths."""

    slot: int
    model: str
    memory: int
    island: int
    numa: int | None
    address: str | None
    uuid: str | None
    used: int


class NodeDetail(NodeRow):
    """`definition` is what would register the node again."""

    definition: dict[str, Any]
    gpus: list[NodeGpu]


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
    grace_s: float | None
    devices: list[int]


class Orders(TypedDict):
    """What a node is to do. Both lists repeat themselves until the node has reported what they ask for."""

    run: list[RunOrder]
    stop: list[str]


class FailureReport(TypedDict):
    """What is gone, and what is done at once for gangs that lost tasks, one line each."""

    level: str
    name: str
    nodes: list[str]
    recoveries: list[str]


class QueueItem(Start):
    """`position` None: it waits for other workloads, not for its turn. `promoted_from`: what waiting has raised
    `priority` from."""

    position: int | None
    id: int
    namespace: str
    name: str
    queue: str
    user: str | None
    priority: str
    promoted_from: str | None
    replicas: int
    pending: int
    waited_s: float
    reason: str
    message: str
    waits_for: str
    preempting: bool


class QueueResource(TypedDict):
    """Of one queue: `maximum` None is no limit; `cluster` is what there is in all."""

    unit: str
    used: float
    guaranteed: float
    maximum: float | None
    borrowed: float
    cluster: float


class QueueRow(TypedDict):
    """One queue of the tree, counting all below it; `dominant` is the resource behind its `share`."""

    path: str
    name: str
    depth: int
    leaf: bool
    weight: float
    share: float
    dominant: str | None
    waiting: int
    max_workloads: int | None
    resources: dict[str, QueueResource]
    user_limits: dict[str, float]


class LoanPart(TypedDict):
    queue: str
    amount: float


class Loan(TypedDict):
    """Who holds more of a resource than its guarantee, and whose guarantee lies idle meanwhile."""

    resource: str
    borrowers: list[LoanPart]
    lenders: list[LoanPart]


class Tenant(TypedDict):
    """`deviation` from a fair part: 0 is just right, -0.5 half of it, 1 twice of it."""

    tenant: str
    weight: float
    share: float
    deviation: float


class Queues(TypedDict):
    """Parents come before children; `fair_between` says what makes a tenant."""

    queues: list[QueueRow]
    loans: list[Loan]
    fair_between: str
    tenants: list[Tenant]


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
    """The window from `start` to `until` is now or comes next; `every_s` (seconds) brings the following ones, none of
    which begins after `repeats_until`. `resources` is what is held in all, `nodes` what on which; `node` is the only
    one. `tenant` None: nobody may use the room. `status` is planned, active, or degraded with a `message`."""

    id: int
    node: str | None
    nodes: dict[str, dict[str, str | int]]
    target: str
    resources: dict[str, str | int]
    start: float
    until: float
    every_s: float | None
    repeats_until: float | None
    tenant: str | None
    holder: str
    status: str
    message: str


class NodeCounts(TypedDict):
    """Each node once: `online` ones take work, `backend_down` ones would if their backend answered, `quarantined` ones
    are left alone for a while because placements kept failing there."""

    total: int
    online: int
    cordoned: int
    quarantined: int
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
