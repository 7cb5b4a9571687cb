"""What the server answers about the whole: how it decides, what there is, what happened, and whether it is well."""

from typing_extensions import TypedDict

from dovetail.client.types.nodes import ResourceUse


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


class Health(TypedDict):
    status: str
    detail: str
