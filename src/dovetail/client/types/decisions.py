"""What the server answers to why: how a task was decided, and what stands in the way of one that waits."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from dovetail.client.types.workloads import Start, WorkloadRow


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
