"""The answer that draws the cluster: columns, one entry a node, so that thousands of nodes stay small."""

from typing import NotRequired

from typing_extensions import TypedDict


class MapDomain(TypedDict):
    """`level` and `parent` are indices into `levels` and `domains`; parent -1: none."""

    name: str
    level: int
    parent: int


class MapNodes(TypedDict):
    """One entry a node in each list.

    row        its number, which stays as long as the node does
    domain     index of its narrowest domain, -1: it is in none
    gpu_used   a character for each GPU, by slot: `0` free, `1` to `9` tenths in use, `A` all of it
    cpu_share, memory_share   allocated, 0 to 1
    health     index into `legend`
    tenant     index into `tenants` of the namespace that holds most of it, -1: nobody holds anything
    fragment   the share of its free GPUs that typical work cannot use; null where none is free
    forecast   the share of its GPUs, or of its cores where it has none, that is expected to be in use in an hour: by
               the expected ends of its tasks or, where none is expected, by where its measured use goes; else null
    """

    row: list[int]
    name: list[str]
    domain: list[int]
    gpus: list[int]
    gpu_used: list[str]
    cpu_share: list[float]
    memory_share: list[float]
    health: list[int]
    tenant: list[int]
    fragment: list[float | None]
    forecast: list[float | None]


class MapLink(TypedDict):
    """The links up from one domain that a workload's traffic takes: some of its tasks are inside, others outside.
    `load`: what is held or used of them, 0 to 1; null where nobody says what they carry."""

    level: str
    name: str
    tasks: int
    up_mbps: float | None
    load: float | None


class MapWorkload(TypedDict):
    """Where the tasks of one workload are: `row` of nodes, and how many on each. `level`: the narrowest in which all
    are, `host` for one node; null where they share none. `traffic_s`: the estimated time of an all-reduce of
    `traffic_bytes`, `best_s` on as many nodes behind one switch; null for one node, and where the network is not
    described."""

    id: int
    namespace: str
    name: str
    row: list[int]
    tasks: list[int]
    level: str | None
    domain: str | None
    traffic_s: float | None
    best_s: float | None
    traffic_bytes: int
    links: list[MapLink]


class TopologyMap(TypedDict):
    """`full`: it holds all nodes; otherwise those that changed after the version that was asked for, and `gone`, the
    rows that have no node any more. Without `domains`, they have not changed either. `tenants` only grows."""

    version: str
    full: bool
    levels: list[str]
    legend: list[str]
    tenants: list[str]
    nodes: MapNodes
    gone: list[int]
    domains: NotRequired[list[MapDomain]]
    workload: NotRequired[MapWorkload]
