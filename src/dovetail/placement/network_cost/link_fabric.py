"""A graph of links as the ranks of one placement see it: the links that their data takes, and how much each carries.

Data takes the path with the lowest latency; of equals the one with fewer links; and of several such paths all of them,
in proportion to their bandwidth, as switches do that hash flows over equal paths (ECMP). What other traffic leaves of a
link counts (`utilisation`), at least `LEAST_LEFT` of it, so that a full link is slow but not a wall. Hosts on one
switch are left out of the search for paths: it starts and ends at their switches. Paths from a switch are found on
demand and cached. SciPy, which finds them, is loaded only where links are described.
"""

from collections import OrderedDict

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.network.link_graph import LinkGraph
from dovetail.placement.network_cost.fabric import BITS, MBPS, Busiest, OneSwitch, Ports, busier

LEAST_LEFT = 0.01
#: A link counts as so many nanoseconds beside its latency, which is in whole ones.
_A_LINK_NS = 1e-4
_ROUTES_KEPT = 4096


class LinkRoutes:
    """One graph. Hosts are known by name; `anchors`, by vertex, is where a host meets the part that is searched: its
    switch, or itself if it has several links."""

    def __init__(self, graph: LinkGraph) -> None:
        left = np.maximum(graph.headroom_mbps, LEAST_LEFT * graph.mbps)
        vertices = len(graph.names)
        degree = np.bincount(np.concatenate([graph.starts, graph.ends]), minlength=vertices)
        single = (degree == 1) & ~graph.is_switch
        outer = np.zeros(len(graph.starts), dtype=np.bool_)
        anchors = np.arange(vertices)
        mbps, latency_ns = np.full(vertices, np.inf), np.zeros(vertices)
        for own, other in ((graph.starts, graph.ends), (graph.ends, graph.starts)):
            hung = single[own] & graph.is_switch[other]
            outer |= hung
            anchors[own[hung]] = other[hung]
            mbps[own[hung]], latency_ns[own[hung]] = left[hung], graph.latency_ns[hung]
        self._index, self._is_switch = graph.index, graph.is_switch
        self._mbps, self._latency_ns = mbps, latency_ns
        self._nearest_ns, self._all_mbps = _nearest(graph, left)
        # Vertices that are searched have numbers of their own: a hundred thousand hosts hang on a few hundred switches.
        searched, self.anchors = np.unique(anchors, return_inverse=True)
        more = np.setdiff1d(np.flatnonzero(graph.is_switch), searched)
        place = np.full(vertices, -1, dtype=np.intp)
        place[np.concatenate([searched, more])] = np.arange(len(searched) + len(more))
        self._names = [graph.names[vertex] for vertex in (*searched.tolist(), *more.tolist())]
        kept = ~outer
        tails = place[np.concatenate([graph.starts[kept], graph.ends[kept]])]
        heads = place[np.concatenate([graph.ends[kept], graph.starts[kept]])]
        order = np.argsort(tails, kind="stable")  # so that sums over the links out of a vertex are over a range
        self.tails, self.heads = tails[order], heads[order]
        self.mbps: F8 = np.tile(left[kept], 2)[order]
        self._cost = np.tile(graph.latency_ns[kept] + _A_LINK_NS, 2)[order]
        self._kept: OrderedDict[int, tuple[F8, F8]] = OrderedDict()

    def fabrics(self, hosts: list[str], of_rank: Rows) -> "tuple[LinkFabric, OneSwitch] | None":
        """The links as they are; and all links of each host as one, behind one switch. None where a host is unknown."""
        vertices = np.array([self._index.get(host, -1) for host in hosts], dtype=np.intp)
        if (vertices < 0).any() or self._is_switch[vertices].any():
            return None
        # A host with several links has no single way out: its links are part of the searched graph.
        ports = Ports(of_rank, self._mbps[vertices], self._latency_ns[vertices], hosts)
        best = Ports(of_rank, self._all_mbps[vertices], self._nearest_ns[vertices], hosts)
        return LinkFabric(ports, self, vertices), OneSwitch(best)

    def link(self, index: int) -> str:
        return f"the link from {self._names[self.tails[index]]} to {self._names[self.heads[index]]}"

    def from_anchors(self, anchors: Rows) -> tuple[F8, F8]:
        """float64[anchor, vertex]: latency of the way; float64[link, anchor]: which share of what arrives at the head
        of a link on the way from there comes over it."""
        missing = [one for one in anchors.tolist() if one not in self._kept]
        if missing:
            self._find(np.array(missing, dtype=np.intp))
        found = [self._kept[one] for one in anchors.tolist()]
        for one in anchors.tolist():
            self._kept.move_to_end(one)
        while len(self._kept) > max(_ROUTES_KEPT, len(anchors)):
            self._kept.popitem(last=False)
        shares = np.ascontiguousarray(np.array([share for _, share in found]).T)
        return np.array([latency for latency, _ in found]), shares

    def _find(self, anchors: Rows) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        size = len(self._names)
        matrix = csr_array((self._cost, (self.tails, self.heads)), shape=(size, size))
        whole = dijkstra(matrix, indices=anchors)
        for anchor, length in zip(anchors.tolist(), whole, strict=True):
            with np.errstate(invalid="ignore"):
                slack = length[self.tails] + self._cost - length[self.heads]
            share = np.where(slack < 0.5 * _A_LINK_NS, self.mbps, 0.0)  # nan, where there is no way, is not below
            into = np.bincount(self.heads, share, size)[self.heads]
            share = np.divide(share, into, out=np.zeros_like(share), where=into > 0)
            self._kept[anchor] = (np.floor(length + 0.5 * _A_LINK_NS), share)

    def loads(self, shares: F8, anchors: Rows, demand: F8) -> F8:
        """float64[link]: what each carries of `demand[from, to]` between the anchors."""
        passing = np.zeros((len(self._names), len(anchors)))  # by vertex and where it comes from
        passing[anchors] = demand.T
        home = (anchors, np.arange(len(anchors)))
        passing[home] = 0.0
        found = np.zeros(len(self.tails))
        while True:  # back from where it goes, link by link; the way from an anchor has no circles
            busy: B1 = np.asarray(passing.any(axis=1))
            links = np.flatnonzero(busy[self.heads])
            if not len(links):
                return found
            arriving = passing[self.heads[links]] * shares[links]
            found[links] += arriving.sum(axis=1)
            tails = self.tails[links]
            first = np.flatnonzero(np.concatenate(([True], tails[1:] != tails[:-1])))  # they are in order
            passing[:] = 0.0
            passing[tails[first]] = np.add.reduceat(arriving, first, axis=0)
            passing[home] = 0.0


def _nearest(graph: LinkGraph, left_mbps: F8) -> tuple[F8, F8]:
    """By vertex: latency of its quickest link, and the bandwidth of all of them."""
    nearest, together = np.full(len(graph.names), np.inf), np.zeros(len(graph.names))
    for ends in (graph.starts, graph.ends):
        np.minimum.at(nearest, ends, graph.latency_ns)
        np.add.at(together, ends, left_mbps)
    return nearest, together


class LinkFabric(OneSwitch):
    """`vertices` are those of the nodes in `ports`."""

    def __init__(self, ports: Ports, routes: LinkRoutes, vertices: Rows) -> None:
        super().__init__(ports)
        self._routes = routes
        self._anchors, self._of_node = np.unique(routes.anchors[vertices], return_inverse=True)
        latency_ns, self._shares = routes.from_anchors(self._anchors)
        self._latency_ns: F8 = latency_ns[:, self._anchors]

    def _inside(self, start: Rows, end: Rows, size_bytes: F8) -> tuple[Busiest, F8]:
        here, there = self._of_node[start], self._of_node[end]
        count = len(self._anchors)
        demand = np.bincount(here * count + there, size_bytes, count * count).astype(np.float64).reshape(count, count)
        return self._busiest(demand), self._latency_ns[here, there]

    def _inside_all(self, size_bytes: float) -> tuple[Busiest, float]:
        tasks = np.bincount(self._of_node, self.ports.tasks).astype(np.float64)
        busiest = self._busiest(np.outer(tasks, tasks) * size_bytes)
        longest = np.zeros(len(self._anchors))
        np.maximum.at(longest, self._of_node, self.ports.latency_ns)
        path_ns = self._latency_ns + longest[:, None] + longest
        different: B1 = ~np.eye(len(longest), dtype=np.bool_)
        order = np.lexsort((-self.ports.latency_ns, self._of_node))  # the two slowest of one switch stand side by side
        same = self._of_node[order[:-1]] == self._of_node[order[1:]]
        near = (self.ports.latency_ns[order[:-1]] + self.ports.latency_ns[order[1:]])[same]
        return busiest, max(float(path_ns[different].max(initial=0.0)), float(near.max(initial=0.0)))

    def _busiest(self, demand: F8) -> Busiest:
        routes = self._routes
        if len(self._anchors) == 1 or not len(routes.tails):
            return Busiest(0.0, "")
        each = routes.loads(self._shares, self._anchors, demand) * (BITS / MBPS) / routes.mbps
        return busier(Busiest(0.0, ""), each, routes.link)
