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
    """`strangers`: how many described hosts are not nodes; `some_strangers`: their names."""

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


class DistanceBetween(_Ends):
    """`by_hand`: it was set. `level`: the narrowest one with a domain that contains both nodes, or null."""

    distance: float
    by_hand: bool
    level: str | None
    path: PathBetween | None
