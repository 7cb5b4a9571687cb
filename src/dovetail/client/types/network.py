"""What the server answers about the network."""

from typing import Any

from typing_extensions import TypedDict


class LevelRow(TypedDict):
    """A level that nodes are in. Bandwidth, latency and loss are of the link up from each of its domains; `outside` are
    nodes that are in none."""

    name: str
    label: str
    domains: int
    outside: int
    bandwidth: str
    latency: str
    loss: float


class NetworkTopology(TypedDict):
    """`strangers`: how many hosts are described that are no nodes, and `some_strangers` the first of them."""

    described: bool
    levels: list[LevelRow]
    rules: list[dict[str, Any]]
    links: int
    switches: int
    strangers: int
    some_strangers: list[str]
    definition: dict[str, Any]


class GpuCount(TypedDict):
    capacity: float
    free: float


class DomainRow(TypedDict):
    """`around`: by wider level, the domain that it lies in. Free is what is free on nodes that take work. `up_mbps` is
    what its links up carry, `held_mbps` what gangs hold of it, `free_mbps` what that and other traffic leave."""

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


class PathBetween(TypedDict):
    hops: int
    latency_us: float
    mbps: float
    headroom_mbps: float
    loss: float


_Ends = TypedDict("_Ends", {"from": str, "to": str})


class Apart(_Ends):
    """`by_hand`: somebody set it. `level`: the narrowest that both are in one domain of; null where there is none."""

    distance: float
    by_hand: bool
    level: str | None
    path: PathBetween | None
