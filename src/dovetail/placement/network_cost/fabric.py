"""What the links carry when the ranks of one placement communicate: the busiest link and the longest path.

A rank is a task; its place is a node. Between tasks of one node data takes the node's own links, one a task (`LOCAL`).
All other data leaves through the link of the node, which all tasks of the node share, in both directions at once.
`OneSwitch` ends there: nodes behind one switch. `LevelFabric` goes on through the uplinks of each domain: a tree.
Graphs of links are left to `link_fabric`.
Guarantees: pure; the flows of the job itself share links, and nothing else does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.network.levels import PresentLevel
from dovetail.model.network.topology import LinkDefaults

#: Between two tasks of one node, where it is not described: roughly what GPUs of one machine have among themselves.
LOCAL = LinkDefaults(2_400_000, 500)
BITS = 8.0
MBPS = 1e6


class Carried(NamedTuple):
    """One round of flows: seconds that the busiest link takes, the longest path, and which link is busiest."""

    seconds: float
    latency_ns: float
    where: str


class Busiest(NamedTuple):
    seconds: float
    where: str


@dataclass(frozen=True, slots=True)
class Ports:
    """The ranks' nodes, each once, and the link of each to the network."""

    of_rank: Rows  # place among the nodes
    mbps: F8
    latency_ns: F8
    names: Sequence[str]

    @property
    def tasks(self) -> F8:
        """float64[node]: ranks on each."""
        return np.bincount(self.of_rank, minlength=len(self.mbps)).astype(np.float64)


class OneSwitch:
    """All nodes behind one switch that is never busy: the best case for these nodes."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    def carry(self, sources: Rows, targets: Rows, size_bytes: F8) -> Carried:
        """Flows between ranks, all at once."""
        ports = self.ports
        start, end = ports.of_rank[sources], ports.of_rank[targets]
        out = start != end
        local = max(
            _most(sources[~out], size_bytes[~out]),
            _most(targets[~out], size_bytes[~out]),
        )
        found = Busiest(seconds_for(local, LOCAL.mbps), "the links inside a node")
        latency_ns = np.where(out, ports.latency_ns[start] + ports.latency_ns[end], float(LOCAL.latency_ns))
        if out.any():
            start, end, size = start[out], end[out], size_bytes[out]
            nodes = len(ports.mbps)
            each = np.maximum(np.bincount(start, size, nodes), np.bincount(end, size, nodes)) * BITS / ports.mbps / MBPS
            found = busier(found, each, lambda node: f"the link of {ports.names[node]}")
            inside, more_ns = self._inside(start, end, size)
            found = max(found, inside, key=lambda one: one.seconds)
            latency_ns[out] += more_ns
        return Carried(found.seconds, float(latency_ns.max(initial=0.0)), found.where)

    def carry_all(self, size_bytes: float) -> Carried:
        """Every rank sends so much to every other one."""
        ports, tasks = self.ports, self.ports.tasks
        ranks = len(ports.of_rank)
        found = Busiest(seconds_for((tasks.max() - 1.0) * size_bytes, LOCAL.mbps), "the links inside a node")
        if len(tasks) == 1:
            return Carried(found.seconds, float(LOCAL.latency_ns), found.where)
        each = tasks * (ranks - tasks) * (size_bytes * BITS / MBPS) / ports.mbps
        found = busier(found, each, lambda node: f"the link of {ports.names[node]}")
        inside, latency_ns = self._inside_all(size_bytes)
        found = max(found, inside, key=lambda one: one.seconds)
        return Carried(found.seconds, max(latency_ns, float(LOCAL.latency_ns) if tasks.max() > 1 else 0.0), found.where)

    # --- above the links of the nodes --------------------------------------------------------------------------

    def _inside(self, start: Rows, end: Rows, size_bytes: F8) -> tuple[Busiest, F8]:  # noqa: ARG002 (of other fabrics)
        """Flows between different nodes: the busiest link, and for each what its way adds to those of its nodes."""
        return Busiest(0.0, ""), np.zeros(len(start))

    def _inside_all(self, size_bytes: float) -> tuple[Busiest, float]:  # noqa: ARG002
        """The same for all pairs, and the longest path in full."""
        return Busiest(0.0, ""), float(np.sort(self.ports.latency_ns)[-2:].sum())


class _Tier(NamedTuple):
    """One level, cut where the domains of the next wider one end. Nodes in no domain of it hang directly on the wider
    one: they share a code that has no link here."""

    codes: Rows  # by node
    linked: B1  # by code
    parents: Rows  # by code
    level: PresentLevel
    names: Rows  # by code: the domain as its label has it


class LevelFabric(OneSwitch):
    """`levels` widest first; `rows` are those of the nodes in `ports`."""

    def __init__(self, ports: Ports, levels: Sequence[PresentLevel], rows: Rows) -> None:
        super().__init__(ports)
        self._tiers: list[_Tier] = []
        outer = np.zeros(len(rows), dtype=np.intp)
        for level in levels:
            labels = level.column.codes[rows].astype(np.intp)
            keys = outer * (len(level.column.vocabulary) + 1) + labels
            _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
            self._tiers.append(_Tier(codes, labels[first] > 0, outer[first], level, labels[first]))
            outer = codes

    def _inside(self, start: Rows, end: Rows, size_bytes: F8) -> tuple[Busiest, F8]:
        found, latency_ns = Busiest(0.0, ""), np.zeros(len(start))
        for tier in self._tiers:
            here, there = tier.codes[start], tier.codes[end]
            out = here != there
            if not out.any():
                continue
            count = len(tier.linked)
            load = np.maximum(
                np.bincount(here[out], size_bytes[out], count), np.bincount(there[out], size_bytes[out], count)
            )
            found = self._busier(found, tier, load)
            latency_ns += out * (tier.linked[here] + 1.0 * tier.linked[there]) * tier.level.level.latency_ns
        return found, latency_ns

    def _inside_all(self, size_bytes: float) -> tuple[Busiest, float]:
        tasks, found = self.ports.tasks, Busiest(0.0, "")
        longest = 0.0
        up_ns = self.ports.latency_ns.copy()
        for index in range(len(self._tiers) - 1, -1, -1):
            tier = self._tiers[index]
            up_ns += tier.linked[tier.codes] * float(tier.level.level.latency_ns)
            held = np.bincount(tier.codes, tasks).astype(np.float64)
            if len(held) > 1:
                found = self._busier(found, tier, held * (len(self.ports.of_rank) - held) * size_bytes)
            longest = max(longest, _two_longest(up_ns, tier.codes, tier.parents))
        nodes = np.arange(len(tasks))
        narrowest = self._tiers[-1].codes if self._tiers else np.zeros(len(tasks), dtype=np.intp)
        return found, max(longest, _two_longest(self.ports.latency_ns, nodes, narrowest))

    def _busier(self, found: Busiest, tier: _Tier, load_bytes: F8) -> Busiest:
        each = np.where(tier.linked, load_bytes * (BITS / MBPS / tier.level.level.mbps), 0.0)
        return busier(
            found, each, lambda code: f"the links up from {tier.level.name} {tier.level.domain(int(tier.names[code]))}"
        )


def _two_longest(up_ns: F8, codes: Rows, parents: Rows) -> float:
    """The longest path between nodes of two domains that meet in one wider one."""
    longest = np.zeros(len(parents))
    np.maximum.at(longest, codes, up_ns)
    order = np.lexsort((-longest, parents))
    pairs = parents[order[:-1]] == parents[order[1:]]
    both = longest[order[:-1]] + longest[order[1:]]
    return float(both[pairs].max(initial=0.0))


def busier(found: Busiest, each: F8, named: Callable[[int], str]) -> Busiest:
    """Of the links and what was found before."""
    top = int(each.argmax()) if len(each) else -1
    return found if top < 0 or each[top] <= found.seconds else Busiest(float(each[top]), named(top))


def _most(ranks: Rows, size_bytes: F8) -> float:
    return float(np.bincount(ranks, size_bytes).max()) if len(ranks) else 0.0


def seconds_for(size_bytes: float, mbps: float) -> float:
    return size_bytes * BITS / (mbps * MBPS)
