"""Bodies of answers that are worked out on a copy of the live state: snapshots, what-if, profile previews."""

from typing import Any

from typing_extensions import TypedDict


class SnapshotBody(TypedDict):
    """A snapshot file (`docs/simulating.md` describes its parts)."""

    format: str
    version: int
    taken_at: float
    source: dict[str, Any]
    left_out: list[str]
    settings: dict[str, Any]
    topology: dict[str, Any] | None
    distances: list[list[str | float]]
    measured: dict[str, Any] | None
    nodes: list[dict[str, Any]]
    workloads: list[dict[str, Any]]
    terms: list[dict[str, Any]]
    reservations: list[dict[str, Any]]
    policies: list[dict[str, Any]]
    learned: dict[str, Any]
    cursors: dict[str, int]
    next_workload: int
    next_reservation: int


class ChangedWorkload(TypedDict):
    """When all its tasks have a node, in seconds from now on; None: not within the horizon, or not submitted."""

    id: int
    namespace: str
    name: str
    before_s: float | None
    after_s: float | None


class ExplainedWorkload(ChangedWorkload):
    why: str


class ChangedWorkloads(TypedDict):
    """`items`: the first of them."""

    count: int
    items: list[ChangedWorkload]


class ExplainedWorkloads(TypedDict):
    count: int
    items: list[ExplainedWorkload]


MovedTask = TypedDict(
    "MovedTask",
    {"id": int, "namespace": str, "name": str, "replica": int, "from": str, "to": str, "at_s": float},
)
MovedTask.__doc__ = "A task that runs now and would run on another node, from `at_s` on."


class MovedTasks(TypedDict):
    count: int
    items: list[MovedTask]


class BeforeAndAfter(TypedDict):
    before: float
    after: float


class WhatIfDifferences(TypedDict):
    """`placed_elsewhere`: tasks that wait now and would get another node."""

    started: ChangedWorkloads
    delayed: ChangedWorkloads
    moved: MovedTasks
    unplaced: ExplainedWorkloads
    preempted: ExplainedWorkloads
    failed: ExplainedWorkloads
    placed_elsewhere: int
    utilisation: dict[str, BeforeAndAfter]


class WhatIfRun(TypedDict):
    """`figures`: by name, as `dovetail simulate -o json` has them."""

    profile: str
    workloads: int
    waiting_at_the_end: int
    utilisation: dict[str, float]
    figures: dict[str, float | None]


class WhatIfAnswer(TypedDict):
    """`taken_at`: of the copy; other times are seconds from then on."""

    taken_at: float
    horizon_s: float
    before: WhatIfRun
    after: WhatIfRun
    differences: WhatIfDifferences
    sentences: list[str]


class OtherChoice(TypedDict):
    """None: the task would have found no node."""

    id: int
    namespace: str
    name: str
    node: str
    would_be: str | None


class PreviewedState(TypedDict):
    """`fragmentation`: the share of all GPUs that is free and of no use to typical work; None without GPUs."""

    nodes_in_use: int
    empty_nodes: int
    unusable_gpus: float
    fragmentation: float | None
    utilisation: dict[str, float]


class ProfilePreview(TypedDict):
    """`examples`: the first tasks that would have gone elsewhere."""

    profile: str
    instead_of: str
    decisions: int
    same: int
    different: int
    no_node: int
    examples: list[OtherChoice]
    before: PreviewedState
    after: PreviewedState
    sentences: list[str]
