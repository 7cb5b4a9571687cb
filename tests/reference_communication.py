"""The communication model in plain Python: one flow after the other, one link after the other.

A link is a pair of names, in the direction of the data. Every flow leaves what it carries on each link of its ways; the
busiest link and the longest latency are looked up at the end.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from dovetail.model.network.topology import Topology
from dovetail.placement.network_cost.fabric import LOCAL
from dovetail.placement.network_cost.link_fabric import LEAST_LEFT

Link = tuple[str, str]
Flow = tuple[int, int, float]  # from rank, to rank, bytes


class Wire(NamedTuple):
    mbps: float
    latency_ns: float


class Network:
    """Both directions of every link."""

    def __init__(self) -> None:
        self.wires: dict[Link, Wire] = {}

    def add(self, one: str, other: str, wire: Wire) -> None:
        self.wires[one, other] = self.wires[other, one] = wire

    def neighbours(self, vertex: str) -> list[str]:
        return [end for start, end in self.wires if start == vertex]

    def lengths(self, source: str) -> dict[str, tuple[float, int]]:
        """Latency and number of links of the quickest way to everywhere."""
        found = {source: (0.0, 0)}
        for _ in range(len(self.wires)):
            changed = False
            for (start, end), wire in self.wires.items():
                if start in found:
                    far, links = found[start]
                    candidate = (far + wire.latency_ns, links + 1)
                    if candidate < found.get(end, (inf, 0)):
                        found[end], changed = candidate, True
            if not changed:
                break
        return found

    def parts(self, source: str, target: str) -> Iterator[tuple[Link, float]]:
        """Each link of the ways between them, and the share of the flow that takes it."""
        lengths = self.lengths(source)

        def back(vertex: str, share: float) -> Iterator[tuple[Link, float]]:
            if vertex == source:
                return
            last = [
                other
                for other in self.neighbours(vertex)
                if other in lengths
                and lengths[vertex] == (lengths[other][0] + self.wires[other, vertex].latency_ns, lengths[other][1] + 1)
            ]
            total = sum(self.wires[other, vertex].mbps for other in last)
            for other in last:
                part = share * self.wires[other, vertex].mbps / total
                yield (other, vertex), part
                yield from back(other, part)

        yield from back(target, 1.0)


def tree_network(topology: Topology, places: Mapping[str, Mapping[str, str]]) -> Network:
    """Hosts under domains under wider domains under one root; widest level first."""
    network = Network()
    host = topology.host_link
    for name, place in places.items():
        child, link = f"host {name}", host
        inner = [level for level in topology.inner_levels if level.name in place]
        for depth in range(len(inner) - 1, -1, -1):
            domain = " ".join(["domain", *(place[level.name] for level in inner[: depth + 1])])
            network.add(child, domain, Wire(link.mbps, link.latency_ns))
            child, link = domain, inner[depth]
        network.add(child, "root", Wire(link.mbps, link.latency_ns))
    return network


def link_network(topology: Topology) -> Network:
    """Only for links that say how fast they are, each once."""
    network = Network()
    for link in topology.links:
        assert link.bandwidth is not None
        assert link.latency is not None
        left = max(1.0 - link.utilisation, LEAST_LEFT) * link.bandwidth
        named = [end if end in topology.switches else f"host {end}" for end in (link.start, link.end)]
        network.add(named[0], named[1], Wire(left, link.latency))
    return network


def round_of(network: Network, hosts: Sequence[str], flows: Sequence[Flow]) -> tuple[float, float]:
    """Seconds of the busiest link, and the longest latency in nanoseconds."""
    load: dict[Link, float] = defaultdict(float)
    local: dict[tuple[str, int], float] = defaultdict(float)
    longest = 0.0
    for source, target, size in flows:
        start, end = f"host {hosts[source]}", f"host {hosts[target]}"
        if start == end:
            local["out", source] += size
            local["in", target] += size
            longest = max(longest, LOCAL.latency_ns)
            continue
        longest = max(longest, network.lengths(start).get(end, (inf, 0))[0])
        for link, part in network.parts(start, end):
            load[link] += size * part
    times = [size * 8 / (network.wires[link].mbps * 1e6) for link, size in load.items()]
    times += [size * 8 / (LOCAL.mbps * 1e6) for size in local.values()]
    return max(times, default=0.0), longest


def ring_s(network: Network, hosts: Sequence[str], size: float) -> float:
    n = len(hosts)
    busiest, latency_ns = round_of(network, hosts, [(rank, (rank + 1) % n, size / n) for rank in range(n)])
    return 2 * (n - 1) * (busiest + latency_ns * 1e-9)


def tree_s(network: Network, hosts: Sequence[str], size: float) -> float:
    n = len(hosts)
    flows: list[Flow] = []
    deepest = 0
    for second in (False, True):
        for rank in range(1, n):
            child, parent = rank, parent_of(rank, n)
            if second:
                child, parent = ((one + 1) % n if n % 2 else n - 1 - one for one in (child, parent))
            flows += [(child, parent, size / 2), (parent, child, size / 2)]
    for rank in range(n):
        depth, at = 0, rank
        while at:
            at, depth = parent_of(at, n), depth + 1
        deepest = max(deepest, depth)
    busiest, latency_ns = round_of(network, hosts, flows)
    return busiest + 2 * deepest * latency_ns * 1e-9


def parent_of(rank: int, n: int) -> int:
    """Of a rank in the tree whose ranges of ranks are its parts."""
    bit = 1
    while not rank & bit:
        bit *= 2
    above = (rank - bit) | (bit * 2)
    return above if above < n else rank - bit


def all_to_all_s(network: Network, hosts: Sequence[str], size: float) -> float:
    n = len(hosts)
    flows = [(one, other, size / n) for one in range(n) for other in range(n) if one != other]
    busiest, latency_ns = round_of(network, hosts, flows)
    return busiest + (n - 1) * latency_ns * 1e-9
