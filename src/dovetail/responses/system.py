"""Answers about the server as a whole: summary, profiles, history, health."""

from typing_extensions import TypedDict

from dovetail.responses.nodes import ResourceUse


class ProfileRow(TypedDict):
    name: str
    default: bool
    built_in: bool
    order: str
    select: str
    filters: list[str]
    scores: dict[str, float]


class SchedulerRow(TypedDict):
    name: str
    profile: str
    namespaces: list[str]
    node_selector: dict[str, str]


class Profiles(TypedDict):
    default: str
    profiles: list[ProfileRow]
    schedulers: list[SchedulerRow]


class NodeCounts(TypedDict):
    """Each node counts once. `online`: takes work. `backend_down`: would take work if its backend answered.
    `quarantined`: takes no work for a while, because placements kept failing there."""

    total: int
    online: int
    cordoned: int
    quarantined: int
    backend_down: int
    offline: int


class ClusterSummary(TypedDict):
    nodes: NodeCounts
    resources: dict[str, ResourceUse]
    workloads: dict[str, int]
    waiting: int
    decisions_total: int
    version: str
    uptime_s: float


class HistoryRow(TypedDict):
    """One line of the history. `seq` grows with every line and is never reused. `namespace` and `name` are those of the
    workload, None if it was forgotten."""

    seq: int
    at: float
    kind: str
    message: str
    workload: int | None
    replica: int | None
    node: str | None
    backend: str | None
    namespace: str | None
    name: str | None


class WrittenNote(TypedDict):
    """A note as it stands in the history, and when."""

    at: float
    text: str


class HistoryPage(TypedDict):
    """`cursor`: ask for the next page with it as `after`, or as `before` if the newest come first; None after the last
    page."""

    items: list[HistoryRow]
    cursor: int | None


class ServerHealth(TypedDict):
    status: str
    detail: str
