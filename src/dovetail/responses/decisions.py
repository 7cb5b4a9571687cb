"""Answers to "why": how a task was placed, and what blocks a task that waits."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from dovetail.responses.workloads import PredictedStart, WorkloadRow


class FilterStep(TypedDict):
    filter: str
    remaining: int
    reason: str


class RankedNode(TypedDict):
    node: str
    total: float
    points: dict[str, float]
    load: float


class ResourceShortage(TypedDict):
    resource: str
    needed: str
    best_free: str
    best_node: str
    short_by: str


class DecisionExplanation(TypedDict):
    outcome: str
    message: str
    profile: str
    nodes: int
    funnel: list[FilterStep]
    weights: dict[str, float]
    best: list[RankedNode]
    shortages: list[ResourceShortage]
    eviction: str
    notes: list[str]


class DecisionRow(TypedDict):
    workload: int
    replica: int
    attempt: int
    at: float
    node: str | None
    outcome: str
    explanation: DecisionExplanation


class CoreRequirement(TypedDict):
    """One of the requirements that no node satisfies together. `nodes_alone`: nodes that satisfy this one alone."""

    requirement: str
    field: str
    nodes_alone: int


class SuggestionRow(TypedDict):
    """A change with which a trial placed the whole workload: a JSON merge patch of its definition, or an action such as
    {"uncordon": "n3"}, {"evict": ["default/batch-7.0"]} or {"wait_until": 1700000000.0}."""

    words: str
    kind: str
    patch: dict[str, Any] | None
    action: dict[str, Any] | None


class PlacementBlockers(TypedDict):
    """Why pending work cannot be placed, and what would help. `core`: requirements that no node satisfies together; if
    it is empty, `waits_for` says what is missing. `core_exact`: no smaller core exists."""

    core: list[CoreRequirement]
    core_exact: bool
    waits_for: str
    suggestions: list[SuggestionRow]


class ExplainAnswer(PredictedStart, PlacementBlockers):
    """`decision`: the latest stored one. `now`: what the scheduler would decide about pending work at this moment."""

    workload: WorkloadRow
    state: str
    answer: str
    decision: DecisionRow | None
    now: DecisionExplanation | None
    position: int | None


class NodeRefusal(TypedDict):
    filter: str
    reason: str
    message: str
    eviction: str
    resource: NotRequired[str]
    needed: NotRequired[str]
    free: NotRequired[str]


class TotalPoints(TypedDict):
    total: float
    scores: dict[str, float]


class WhyNotAnswer(TypedDict):
    node: str
    refused: list[NodeRefusal]
    rank: int | None
    feasible: int
    best_node: str | None
    answer: str
    points: TotalPoints
    best: list[RankedNode]
