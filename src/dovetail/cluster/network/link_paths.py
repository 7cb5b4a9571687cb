"""Shortest paths through a graph of links: by latency, then by number of links, then by bandwidth, then by loss.

Hosts on one switch with the same kind of link form a class: what holds between two of them holds between any two. So
a fabric of a hundred thousand hosts has as many classes as switches. A host with several links is a class of its own.
Distances are float32[class, class], at most 64 MiB; paths from one class are computed on demand. SciPy computes them
and is loaded only where links are described.
"""

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.network.link_graph import LinkGraph
from dovetail.cluster.network.path import FARTHEST, DistanceScale, Paths, nowhere
from dovetail.model.network.topology import DistanceWeights, HopRule

F4 = npt.NDArray[np.float32]
I2 = npt.NDArray[np.int16]
_TOGETHER = 256  # sources looked at in one go: bounds the memory that this takes
_KEPT = 256
# What a link adds to the length of a way beside its latency, how little its width counts after that, the narrowest the
# most, and how little what it loses. Latencies are whole nanoseconds, so that all stay below any difference between
# them, and the number of links can be read back.
_A_LINK, _WIDTH, _LOSS = 1e-4, 1e-8, 1e-10
_NO_WAY = np.iinfo(np.int16).max


class LinkPaths:
    def __init__(self, graph: LinkGraph, weights: DistanceWeights) -> None:
        self.class_of: dict[str, int] = {}  # by host
        self.sizes: list[int] = []  # by class
        anchors: list[int] = []  # by class: the vertex where its hosts meet the rest
        access: list[tuple[float, ...]] = []  # by class: the link from a host to there
        known: dict[tuple[Any, ...], int] = {}
        single = _only_links(graph)
        for host in graph.hosts:
            link, anchor = single.get(host), host
            through: tuple[float, ...] = (0.0, 0.0, np.inf, np.inf, 0.0)
            if link is not None:
                anchor = int(graph.starts[link] + graph.ends[link]) - host
                tables = (graph.latency_ns, graph.mbps, graph.headroom_mbps, graph.passed)
                through = (1.0, *(float(table[link]) for table in tables))
            place = known.setdefault((anchor, through), len(known))
            if place == len(anchors):
                anchors.append(anchor)
                access.append(through)
                self.sizes.append(0)
            self.sizes[place] += 1
            self.class_of[graph.names[host]] = place
        self._access = Paths(*np.array(access).reshape(-1, 5).T)
        self._inner = _Inner(graph, np.array(list(single.values()), dtype=np.intp))
        self._anchors = self._inner.place[np.array(anchors, dtype=np.intp)]
        self._rows: OrderedDict[int, Paths] = OrderedDict()
        self.distance, self.hops = self._all(weights)

    @property
    def count(self) -> int:
        """Classes."""
        return len(self.sizes)

    def from_class(self, one: int) -> Paths:
        """Arrays over all classes; the entry of the class itself is the way to another host of it."""
        found = self._rows.get(one)
        if found is None:
            between = self._inner.ways(int(self._anchors[one])).take(self._anchors)
            found = self._access.take(one).joined(between).joined(self._access)
            self._rows[one] = found
            if len(self._rows) > _KEPT:
                self._rows.popitem(last=False)
        return found

    def groups(self, rule: HopRule) -> dict[str, str]:
        """By host, its group: any two hosts of a group are within the given number of links. Groups grow around hosts
        in the order of the graph, and have the name of their first host. A host without neighbours is in none."""
        first: dict[int, str] = {}
        for host, one in self.class_of.items():
            first.setdefault(one, host)
        left = np.ones(self.count, dtype=np.bool_)
        called: dict[int, str] = {}
        for seed in range(self.count):
            if not left[seed] or (self.hops[seed, seed] > rule.hops and self.sizes[seed] > 1):
                continue  # taken, or not even two hosts of one switch are so near
            fits = left & (self.hops[seed] <= rule.hops)
            near = np.flatnonzero(fits)
            left[seed] = False
            called[seed] = first[seed]
            for one in near[np.argsort(self.hops[seed, near], kind="stable")].tolist():
                if fits[one] and left[one]:
                    fits &= self.hops[one] <= rule.hops
                    left[one] = False
                    called[one] = first[seed]
        return {host: called[one] for host, one in self.class_of.items() if one in called}

    # --- all of them -----------------------------------------------------------------------------------------

    def _all(self, weights: DistanceWeights) -> tuple[F4, I2]:
        """Distances and numbers of links between all classes."""
        many, access, yardstick = self.count, self._access, DistanceScale(weights)
        length = np.zeros((many, many), dtype=np.float32)
        hops = np.zeros((many, many), dtype=np.int16)
        # Of these one value does where all are alike, as they are in most fabrics.
        mbps = self._inner.narrowest(self._anchors, access.mbps)
        passed = self._inner.lost(self._anchors, access.passed)
        several = np.array(self.sizes) > 1
        blocks = [np.arange(begin, min(begin + _TOGETHER, many)) for begin in range(0, many, _TOGETHER)]
        for some in blocks:
            latency_ns, links = self._inner.lengths(self._anchors[some], self._anchors)
            length[some] = latency_ns + access.latency_ns[some, None] + access.latency_ns
            hops[some] = np.minimum(links + access.hops[some, None] + access.hops, _NO_WAY)
            pairs = self._pairs(some, length, several)
            yardstick.look(length[some][pairs], _cut(mbps, some)[pairs], _cut(passed, some)[pairs])
        most = 0.0
        found = length
        for some in blocks:
            pairs = self._pairs(some, length, several)
            part = yardstick.part(length[some], _cut(mbps, some), _cut(passed, some))
            most = max(most, float(part[pairs].max(initial=0.0)))
            found[some] = part
        if most > 0:
            found *= np.float32(FARTHEST / most)
            np.clip(found, 0.0, FARTHEST, out=found)  # by rounding, and of a host to itself
        else:
            found[:] = FARTHEST
        found[hops == _NO_WAY] = FARTHEST
        return found, hops

    def _pairs(self, some: Rows, length: F4, several: B1) -> B1:
        """bool[some, class]: different hosts with a way between them."""
        pairs: B1 = np.isfinite(length[some])
        pairs[np.arange(len(some)), some] &= several[some]
        return pairs


def _cut(table: F4, some: Rows) -> F4:
    found: F4 = table[some] if table.shape[0] > 1 else np.broadcast_to(table, (len(some), table.shape[1]))
    return found


class _Inner:
    """The graph without the hosts that hang on one switch."""

    def __init__(self, graph: LinkGraph, outer: Rows) -> None:
        from scipy.sparse import csr_array

        kept = np.ones(len(graph.starts), dtype=np.bool_)
        kept[outer] = False
        stays = graph.is_switch.copy()
        stays[graph.starts[kept]] = stays[graph.ends[kept]] = True
        self.size = int(stays.sum())
        self.place: Rows = np.cumsum(stays) - 1  # by vertex of the whole
        starts, ends = self.place[graph.starts[kept]], self.place[graph.ends[kept]]
        self._latency_ns, self._mbps = graph.latency_ns[kept], graph.mbps[kept]
        self._headroom_mbps, self._passed = graph.headroom_mbps[kept], graph.passed[kept]
        width = self._mbps.min(initial=np.inf) / self._mbps
        cost = self._latency_ns + _A_LINK + _WIDTH * width + _LOSS * np.minimum(self._passed, 1.0)
        froms, tos = np.concatenate([starts, ends]), np.concatenate([ends, starts])
        self._matrix = csr_array((np.concatenate([cost, cost]), (froms, tos)), shape=(self.size, self.size))
        keys = froms.astype(np.int64) * self.size + tos
        order = np.argsort(keys)
        # `start * size + end` of each direction, sorted, and the link it is.
        self._keys, self._link = keys[order], np.tile(np.arange(len(starts)), 2)[order]

    def lengths(self, sources: Rows, targets: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Latencies and numbers of links from each source to each target."""
        from scipy.sparse.csgraph import dijkstra

        distinct, place = np.unique(sources, return_inverse=True)
        whole = dijkstra(self._matrix, indices=distinct)[:, targets][place]
        latency_ns = np.floor(whole + 0.02 * _A_LINK)
        with np.errstate(invalid="ignore"):
            links = np.floor((whole - latency_ns) / _A_LINK + 0.02)
        return latency_ns, np.where(np.isfinite(whole), links, np.inf)

    def narrowest(self, anchors: Rows, access_mbps: npt.NDArray[np.float64]) -> F4:
        """float32[class or 1, class]: bandwidth of the narrowest link between them."""
        alike = np.unique(np.concatenate([self._mbps, access_mbps[np.isfinite(access_mbps)]]))
        if len(alike) == 1:
            return np.full((1, len(anchors)), alike[0], dtype=np.float32)
        found = np.minimum(access_mbps[:, None], access_mbps).astype(np.float32)
        for row, ways in self._each(anchors):
            found[row] = np.minimum(found[row], ways.mbps[anchors])
        return _both_ways(found)

    def lost(self, anchors: Rows, access_passed: npt.NDArray[np.float64]) -> F4:
        """float32[class or 1, class]: what is lost between them."""
        if not self._passed.any() and not access_passed.any():
            return np.zeros((1, len(anchors)), dtype=np.float32)
        found = (access_passed[:, None] + access_passed).astype(np.float32)
        for row, ways in self._each(anchors):
            found[row] += ways.passed[anchors].astype(np.float32)
        return _both_ways(found)

    def _each(self, anchors: Rows) -> "list[tuple[B1, Paths]]":
        return [(anchors == one, self.ways(int(one))) for one in np.unique(anchors)]

    def ways(self, source: int) -> Paths:
        """Arrays over vertices: what lies between them and the source."""
        from scipy.sparse.csgraph import dijkstra

        if not len(self._keys):
            return nowhere(self.size, source)
        lengths, befores = dijkstra(self._matrix, indices=[source], return_predecessors=True)
        length, before = lengths[0], befores[0]
        here = np.arange(self.size)
        last = np.where(before < 0, here, before).astype(np.int64)  # the vertex before; itself where there is none
        begins = last == here
        link = self._link[np.searchsorted(self._keys, last * self.size + here).clip(max=len(self._keys) - 1)]
        found = Paths(
            np.where(begins, 0.0, 1.0),
            np.where(begins, 0.0, self._latency_ns[link]),
            np.where(begins, np.inf, self._mbps[link]),
            np.where(begins, np.inf, self._headroom_mbps[link]),
            np.where(begins, 0.0, self._passed[link]),
        )
        # Each step doubles the piece of the way that an entry covers, so that a ring of thousands takes a dozen.
        while (last[last] != last).any():
            found = found.joined(found.take(last))
            last = last[last]
        unreached = ~np.isfinite(length)
        found.latency_ns[unreached] = np.inf
        found.mbps[unreached] = found.headroom_mbps[unreached] = 0.0
        return found


def _both_ways(table: F4) -> F4:
    """Of ways that are equally short another may be found from the other end: that of the lower class counts for both,
    so that a distance is the same both ways."""
    lower = np.tril_indices(len(table), -1)
    table[lower] = table.T[lower]
    return table


def _only_links(graph: LinkGraph) -> dict[int, int]:
    """By host that hangs on one switch and nothing else: its link."""
    degree = np.bincount(np.concatenate([graph.starts, graph.ends]), minlength=len(graph.names))
    found: dict[int, int] = {}
    for own, other in ((graph.starts, graph.ends), (graph.ends, graph.starts)):
        single = (degree[own] == 1) & ~graph.is_switch[own] & graph.is_switch[other]
        found |= {int(own[link]): link for link in np.flatnonzero(single).tolist()}
    return found
