"""How long the ranks of a placement take to exchange data: an estimate from the links between their nodes.

    time = the busiest link's bytes / its bandwidth + the longest latency × steps

for each `Pattern`; an all-reduce uses a ring or trees, whichever is quicker. Links are those of the
described graph, or of the tree of levels, with `model.topology.DEFAULT_LINKS` where their speed is unknown. The flows
of the job itself share links; other traffic counts through the `utilisation` of a link.

`best` is the same exchange by the same ranks on as many nodes behind one switch: no placement with as many tasks on
each node is quicker.
Guarantees: pure; equal networks and placements give equal estimates. Left to others: what to do about it.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.network.levels import present_levels
from dovetail.cluster.network.link_graph import LinkGraph
from dovetail.cluster.state import Cluster
from dovetail.model.text.quantity import show_bytes
from dovetail.placement.network_cost.fabric import LevelFabric, OneSwitch, Ports
from dovetail.placement.network_cost.link_fabric import LinkRoutes

_PATTERNS_KEPT = 64
GIB = 2**30
_NS = 1e-9
_ALIKE_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Pattern:
    """One collective operation. Flows from `sources[i]` to `targets[i]`, which are ranks, of `shares[i]` of the data,
    all at once, `times` over; `steps` of them run one after the other."""

    sources: Rows
    targets: Rows
    shares: F8
    times: int
    steps: int


@lru_cache(maxsize=_PATTERNS_KEPT)
def ring(ranks: int) -> Pattern:
    """All-reduce in 2 (n - 1) steps; in each, every rank sends 1/n of the data to the next one."""
    sources = np.arange(ranks)
    times = 2 * (ranks - 1)
    return Pattern(sources, np.roll(sources, -1), np.full(ranks, 1.0 / ranks), times, times)


@lru_cache(maxsize=_PATTERNS_KEPT)
def double_tree(ranks: int) -> Pattern:
    """All-reduce by two binary trees, each for one half of the data, up and down again in pipelined steps; a rank that
    has children in one has none in the other. The second tree is the first one with the ranks in the opposite order or,
    where there is an odd number of them, shifted by one."""
    children, parents = _edges(ranks)
    if ranks % 2:
        again = ((children + 1) % ranks, (parents + 1) % ranks)
    else:
        again = (ranks - 1 - children, ranks - 1 - parents)
    below, above = np.concatenate([children, again[0]]), np.concatenate([parents, again[1]])
    sources, targets = np.concatenate([below, above]), np.concatenate([above, below])
    return Pattern(sources, targets, np.full(len(sources), 0.5), 1, 2 * _depth(children, parents))


def _edges(ranks: int) -> tuple[Rows, Rows]:
    """Child and parent, of all ranks but 0: of the even ranks every other one is above its neighbours, of those every
    other one again, so that a part of the tree is a range of ranks."""
    children = np.arange(1, ranks)
    lowest = children & -children
    above = (children ^ lowest) | (lowest << 1)
    return children, np.where(above < ranks, above, children ^ lowest)


def _depth(children: Rows, parents: Rows) -> int:
    """Links from the farthest rank to rank 0."""
    above = np.zeros(len(children) + 1, dtype=np.intp)
    above[children] = parents
    at, depth = np.arange(len(above)), 0
    while at.any():
        at = above[at]
        depth += 1
    return depth


@dataclass(frozen=True, slots=True)
class RankExchange:
    """One collective operation: its time, the best possible time, the algorithm, and the bottleneck."""

    seconds: float
    best_seconds: float
    algorithm: str
    busiest: str

    @property
    def times_best(self) -> float:
        """1: no placement on such nodes is quicker."""
        return self.seconds / self.best_seconds if self.best_seconds > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """For `size_bytes` a rank: an all-reduce, and an all-to-all."""

    ranks: int
    nodes: int
    size_bytes: int
    all_reduce: RankExchange
    all_to_all: RankExchange

    def __str__(self) -> str:
        """`all-reduce of 1 GiB: about 12 ms; 1.8 × the best possible`"""
        best = self.all_reduce.times_best
        than = "the best possible" if best < 1.05 else f"{best:.2g} × the best possible"
        return f"all-reduce of {show_bytes(self.size_bytes)}: about {show_seconds(self.all_reduce.seconds)}; {than}"


class CommunicationModel:
    """The network of one cluster, with results cached until the topology changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._routes: tuple[int, LinkRoutes] | None = None
        self._alike: dict[tuple[Hashable, ...], float] = {}
        self._as_of = (-1, -1)

    @property
    def is_known(self) -> bool:
        """Is the position of nodes in the network known? Otherwise all nodes are equal, and an estimate says
        nothing."""
        return bool(self._cluster.topology) or bool(present_levels(self._cluster))

    def estimate(self, rows: Sequence[int] | Rows, size_bytes: int = GIB) -> Estimate | None:
        """For tasks on these rows in order of rank. None for fewer than two, and where a node is not in the graph."""
        fabrics = self._fabrics(np.asarray(rows, dtype=np.intp))
        if fabrics is None:
            return None
        actual, best = fabrics
        return Estimate(
            len(actual.ports.of_rank),
            len(actual.ports.mbps),
            size_bytes,
            _all_reduce(actual, best, size_bytes),
            _all_to_all(actual, best, size_bytes),
        )

    def all_reduce_s(self, rows: Sequence[int] | Rows, size_bytes: int) -> float | None:
        """Only the time of an all-reduce, for comparing placements. In a network of levels, placements that differ only
        in the names of their domains take equally long, and are computed once."""
        cluster = self._cluster
        as_of = (cluster.generation, cluster.topology.version)
        if self._as_of != as_of or len(self._alike) > _ALIKE_KEPT:
            self._as_of = as_of
            self._alike.clear()
        of_rank_rows = np.asarray(rows, dtype=np.intp)
        key = None if cluster.topology.definition.links else (size_bytes, *map(_numbered, self._likeness(of_rank_rows)))
        if key is not None and key in self._alike:
            return self._alike[key]
        fabrics = self._fabrics(of_rank_rows)
        if fabrics is None:
            return None
        patterns = ring(len(of_rank_rows)), double_tree(len(of_rank_rows))
        found = min(_timed(fabrics[0], pattern, size_bytes)[0] for pattern in patterns)
        if key is not None:
            self._alike[key] = found
        return found

    def _likeness(self, of_rank_rows: Rows) -> Iterator[Rows]:
        """For each level, which ranks are in one domain of it. Domains of a level have links that are alike; a node
        that is in none of them is alone, and has no link there."""
        yield of_rank_rows
        for level in present_levels(self._cluster):
            codes = level.column.codes[of_rank_rows].astype(np.intp)
            # Nodes without the label are alone in their own; below 0, so that they count as such.
            yield np.where(codes > 0, codes, -1 - of_rank_rows)

    def _fabrics(self, of_rank_rows: Rows) -> tuple[OneSwitch, OneSwitch] | None:
        """As the network is, and at best; None for fewer than two ranks, and where a node is not in the graph."""
        if len(of_rank_rows) < 2:
            return None
        distinct, of_rank = np.unique(of_rank_rows, return_inverse=True)
        topology = self._cluster.topology
        names = [self._cluster.names[row] for row in distinct.tolist()]
        if not topology.definition.links:
            host = topology.definition.host_link
            count = len(distinct)
            ports = Ports(of_rank, np.full(count, float(host.mbps)), np.full(count, float(host.latency_ns)), names)
            return LevelFabric(ports, present_levels(self._cluster), distinct), OneSwitch(ports)
        if self._routes is None or self._routes[0] != topology.version:
            self._routes = (topology.version, LinkRoutes(LinkGraph(topology.definition)))
        return self._routes[1].fabrics(names, of_rank)


def _numbered(codes: Rows) -> bytes:
    """The same for codes that are equal in the same places: each in order of appearance, and whether it is below 0."""
    seen: dict[int, int] = {}
    found = [seen.setdefault(code, len(seen)) * (-1 if code < 0 else 1) - (code < 0) for code in codes.tolist()]
    return np.array(found, dtype=np.int32).tobytes()


def _all_reduce(actual: OneSwitch, best: OneSwitch, size_bytes: int) -> RankExchange:
    ranks = len(actual.ports.of_rank)
    found = [
        (*_timed(actual, pattern, size_bytes), _timed(best, pattern, size_bytes)[0], name)
        for name, pattern in (("ring", ring(ranks)), ("tree", double_tree(ranks)))
    ]
    seconds, busiest, _, algorithm = min(found, key=lambda one: one[0])
    return RankExchange(seconds, min(one[2] for one in found), algorithm, busiest)


def _timed(fabric: OneSwitch, pattern: Pattern, size_bytes: int) -> tuple[float, str]:
    carried = fabric.carry(pattern.sources, pattern.targets, pattern.shares * float(size_bytes))
    return pattern.times * carried.seconds + pattern.steps * carried.latency_ns * _NS, carried.where


def _all_to_all(actual: OneSwitch, best: OneSwitch, size_bytes: int) -> RankExchange:
    ranks = len(actual.ports.of_rank)
    times = []
    for fabric in (actual, best):
        carried = fabric.carry_all(size_bytes / ranks)
        times.append((carried.seconds + (ranks - 1) * carried.latency_ns * _NS, carried.where))
    return RankExchange(times[0][0], times[1][0], "pairwise", times[0][1])


def show_seconds(seconds: float) -> str:
    """`12 ms`, `1.4 s`, `830 µs`: two digits that count."""
    if not np.isfinite(seconds):
        return "forever, as there is no way between some of them"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.995 * size or unit == "µs":
            value = seconds / size
            return f"{value:.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}"
    raise AssertionError("the last unit takes all")
