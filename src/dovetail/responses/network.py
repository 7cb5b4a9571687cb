"""Answers about the network."""

from typing import Any

from typing_extensions import TypedDict


class LevelRow(TypedDict):
    """A level of the topology. Bandwidth, latency and loss are those of the uplink of each domain. `outside`: how many
    nodes are in no domain of this level."""

    name: str
    label: str
    domains: int
    outside: int
    bandwidth: str
    latency: str
    loss: float


class TopologyAnswer(TypedDict):
    """`strangers`: how many described hosts are not nodes; `some_strangers`: their names. `contradictions`: nodes that
    measure unlike their description, one sentence each."""

    described: bool
    levels: list[LevelRow]
    rules: list[dict[str, Any]]
    links: int
    switches: int
    strangers: int
    some_strangers: list[str]
    definition: dict[str, Any]
    contradictions: list[str]


class GpuCount(TypedDict):
    capacity: float
    free: float


class DomainRow(TypedDict):
    """`around`: by wider level, the domain that contains it. `free` counts nodes that take work. `up_mbps`: bandwidth
    of its uplinks; `held_mbps`: what gangs hold of it; `free_mbps`: what gangs and other traffic leave."""

    level: str
    name: str
    around: dict[str, str]
    nodes: int
    healthy: int
    whole_nodes: int
    whole_gpus: int
    gpu: GpuCount
    free: dict[str, str]
    capacity: dict[str, str]
    up_mbps: float
    held_mbps: float
    free_mbps: float
    largest_gang: int | None


NodeDistance = TypedDict("NodeDistance", {"from": str, "to": str, "distance": float})


class SetDistances(TypedDict):
    """How many distances were set."""

    set: int


class ClearedDistances(TypedDict):
    """How many distances were cleared."""

    cleared: int


class PathBetween(TypedDict):
    hops: int
    latency_us: float
    mbps: float
    headroom_mbps: float
    loss: float


_Ends = TypedDict("_Ends", {"from": str, "to": str})


class MeasuredDistance(_Ends):
    """What measurements say about two nodes, also where something else counts. `source` is `measured` or `estimated`;
    `error`: of the distance, of an estimate. `rtt_us` is null where no packet came through; the lowest, the median and
    the 99th percentile, `loss`, `mbps` and `age_s` are null where nobody measured. `at_least`: the sender could not
    send faster."""

    distance: float
    source: str
    error: float
    rtt_us: float | None
    rtt_min_us: float | None
    rtt_median_us: float | None
    rtt_p99_us: float | None
    loss: float | None
    mbps: float | None
    at_least: bool
    age_s: float | None


class DistanceBetween(_Ends):
    """`by_hand`: it was set. `source` is `by_hand`, `described`, `measured`, `estimated` or, where nobody says it,
    `by_level`. `level`: the narrowest one with a domain that contains both nodes, or null."""

    distance: float
    by_hand: bool
    source: str
    level: str | None
    path: PathBetween | None
    measured: MeasuredDistance | None


class MatrixCell(TypedDict):
    """Between nodes of two domains, or two nodes: the mean distance, 0 to 100; None: there are no two nodes. `source`
    as of `DistanceBetween`, `mixed` where nodes differ. `age_s`: of the oldest measurement among them."""

    distance: float | None
    source: str
    age_s: float | None


class DistanceMatrix(TypedDict):
    """`names`: of domains of `level`, or of nodes where `domain` names one of them or there are no levels. `cells`: of
    each name a row. Each domain is represented by a few of its nodes. `left_off`: how many more names there are."""

    level: str | None
    domain: str | None
    levels: list[str]
    names: list[str]
    nodes: list[int]
    cells: list[list[MatrixCell]]
    left_off: int


class MeasuredPairList(TypedDict):
    """`total`: how many there are; the first of them."""

    items: list[MeasuredDistance]
    total: int


class DiscoveredDomain(TypedDict):
    """`inside`: the domain of the next wider level. `distance`: the mean between two of its nodes."""

    name: str
    nodes: list[str]
    inside: str | None
    distance: float


class DiscoveredLevel(TypedDict):
    """`gap`: how many times farther clusters of its domains are apart than their nodes."""

    name: str
    gap: float
    domains: list[DiscoveredDomain]


class DiscoveredTopology(TypedDict):
    """Levels found in what `nodes` nodes measured, widest first. `definition`: the same, ready for `PUT /topology`."""

    nodes: int
    levels: list[DiscoveredLevel]
    definition: dict[str, Any]
