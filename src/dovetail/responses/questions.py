"""Answers to questions: why a task is where it is, what blocks it, where work would go, how fragmented capacity is."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from dovetail.responses.problems import FieldProblem
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


class RefusedNode(NodeRefusal):
    node: str


class RefusalPage(TypedDict):
    """Nodes that passed all filters before this one. `total`: how many it refuses, on this page and others."""

    items: list[RefusedNode]
    total: int


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


class PlannedTaskRow(TypedDict):
    replica: int
    node: str | None
    explanation: DecisionExplanation


class VictimRow(TypedDict):
    """A task that would be preempted; `lost_s` seconds of its work would be lost."""

    workload: int
    replica: int
    namespace: str
    name: str
    priority: str
    node: str
    lost_s: float


class PlannedPreemption(TypedDict):
    """`tasks` tasks of the plan would fit if the victims were preempted."""

    tasks: int
    victims: list[VictimRow]


class PlannedCommunication(TypedDict):
    """How long a gang would take to exchange `size_bytes` between its ranks, and how long at best. `busiest`: the link
    that limits it."""

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


class PlannedPlace(TypedDict):
    """Equal nodes that could run a task: what it would cost there, and when it would start and end. `start` is null
    where nothing tells when there will be room. `why_not` is empty for the chosen place, unless the task goes there
    later."""

    backend: str
    kind: str
    place: str
    spot: bool
    node: str
    nodes: int
    cost: float
    currency: str
    grams: float
    start: float | None
    finish: float | None
    chosen: bool
    why_not: str


class DecisionPage(TypedDict):
    """`cursor` continues after the last one; null when there are no more."""

    items: list[DecisionRow]
    cursor: str | None


class PlanAnswer(PlacementBlockers):
    """`tasks` that were tried; the first one that fits nowhere ends the list. `over_quota`: the reason, where a limit
    of the queue blocks it. `displaces`: tasks to preempt for what does not fit. `communication`: for a gang on several
    nodes of a described network. `market`: the places that could run its first task, where it compares them."""

    name: str
    namespace: str
    tasks: list[PlannedTaskRow]
    placed: int
    unplaced: int
    queue: str
    over_quota: str | None
    displaces: PlannedPreemption | None
    communication: NotRequired[PlannedCommunication | None]
    market: NotRequired[list[PlannedPlace]]
    planned_at: NotRequired[float]
    answer: str


class Plans(TypedDict):
    """`errors`: what is wrong with the definitions, where that was asked for; there are no plans then."""

    plans: list[PlanAnswer]
    errors: NotRequired[list[FieldProblem]]


class NodeFit(TypedDict):
    node: str
    fits: int


class CapacityAnswer(TypedDict):
    total: int
    by_node: list[NodeFit]
    explanation: DecisionExplanation
    answer: str


class FragmentedDomain(TypedDict):
    """Of the free GPUs, a typical task on average cannot use `unusable_gpus`, and none can use `useless_gpus`."""

    level: str
    name: str
    gpus: float
    free_gpus: float
    unusable_gpus: float
    useless_gpus: float


class TypicalTask(TypedDict):
    """`share`: its part of all tasks. It fits on `nodes` nodes, and `tasks` copies of it fit in all."""

    ask: str
    gpu: float
    gpu_models: list[str]
    cpu: float
    memory: int
    share: float
    nodes: int
    tasks: int


class Defragmentation(TypedDict):
    """What moving tasks would recover: an estimate from trying `tried` of the `movable` tasks."""

    estimate: bool
    won_gpus: float
    moves: int
    tried: int
    movable: int


class FragmentationReport(TypedDict):
    tasks_seen: int
    cluster: FragmentedDomain
    domains: list[FragmentedDomain]
    typical: list[TypicalTask]
    unplaceable_share: float
    defragmentation: Defragmentation
