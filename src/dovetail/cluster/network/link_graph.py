"""Hosts, switches and the links between them as arrays, and the domains that follow from them.

    starts, ends  int32[link]: vertices; each link once, those between the same two merged
    mbps, headroom_mbps, latency_ns, passed  float64[link]

The level of a switch is given, or follows from how many links it is from the nearest host. A domain of a level is what
hangs together by switches of that level and below: one leaf with its hosts, or two leaves that hosts are linked to
twice, or a pod of spines with everything under it. It is called as its switch, or as the first of them and how many
more.
Left to others: ways through the graph (`link_paths`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dovetail.cluster.arrays import F8, I4
from dovetail.model.network.topology import Topology, TopologyLevel, TopologyLink, tier_name
from dovetail.model.workloads.affinity import HOST


@dataclass(slots=True)
class _Merged:
    """All links between two vertices: bandwidths add up, the quickest and the worst loss count."""

    mbps: float = 0.0
    headroom_mbps: float = 0.0
    latency_ns: float = np.inf
    loss: float = 0.0

    def add(self, link: TopologyLink, mbps: int, latency_ns: int) -> None:
        self.mbps += mbps
        self.headroom_mbps += mbps * (1.0 - link.utilisation)
        self.latency_ns = min(self.latency_ns, latency_ns)
        self.loss = max(self.loss, min(link.loss, 1.0 - 1e-12))


@dataclass(slots=True)
class Domains:
    """One level of a graph: by host its domain, by domain what its links upwards carry, and what of it is left."""

    of_host: dict[str, str] = field(default_factory=dict)
    up_mbps: dict[str, float] = field(default_factory=dict)
    headroom_mbps: dict[str, float] = field(default_factory=dict)


class LinkGraph:
    def __init__(self, topology: Topology) -> None:
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        for link in topology.links:
            for name in (link.start, link.end):
                if name not in self.index:
                    self.index[name] = len(self.names)
                    self.names.append(name)
        self.is_switch = np.array([name in topology.switches for name in self.names], dtype=np.bool_)
        pairs = [(self.index[link.start], self.index[link.end]) for link in topology.links]
        tiers = self._tiers(pairs)
        self.levels, self.ranks = _ranked(topology, self.names, tiers)
        merged: dict[tuple[int, int], _Merged] = {}
        known = {level.name: level for level in self.levels} | {HOST: topology.host_link}
        for link, (start, end) in zip(topology.links, pairs, strict=True):
            # A link belongs to the narrower of the two it joins: it is the way up from there.
            level = known[self._level_name(max(start, end, key=lambda vertex: self.ranks[vertex]))]
            mbps = level.mbps if link.bandwidth is None else link.bandwidth
            latency_ns = level.latency_ns if link.latency is None else link.latency
            merged.setdefault((min(start, end), max(start, end)), _Merged()).add(link, mbps, latency_ns)
        self.starts: I4 = np.array([start for start, _ in merged], dtype=np.int32)
        self.ends: I4 = np.array([end for _, end in merged], dtype=np.int32)
        self.mbps: F8 = np.array([link.mbps for link in merged.values()])
        self.headroom_mbps: F8 = np.array([link.headroom_mbps for link in merged.values()])
        self.latency_ns: F8 = np.array([link.latency_ns for link in merged.values()])
        self.passed: F8 = -np.log1p(-np.array([link.loss for link in merged.values()]))
        self.domains = {level.name: self._domains(rank) for rank, level in enumerate(self.levels)}
        self.domains[HOST] = self._single()

    @property
    def hosts(self) -> list[int]:
        return np.flatnonzero(~self.is_switch).tolist()

    def _level_name(self, vertex: int) -> str:
        return HOST if not self.is_switch[vertex] else self.levels[self.ranks[vertex]].name

    def _tiers(self, pairs: Iterable[tuple[int, int]]) -> list[int]:
        """By vertex, how many links it is from the nearest host; switches that no host can reach count as the last."""
        near: list[list[int]] = [[] for _ in self.names]
        for start, end in pairs:
            near[start].append(end)
            near[end].append(start)
        found = [-1] * len(self.names)
        edge = [vertex for vertex in range(len(self.names)) if not self.is_switch[vertex]]
        tier = 0
        while edge:
            for vertex in edge:
                found[vertex] = tier
            edge = list(dict.fromkeys(other for vertex in edge for other in near[vertex] if found[other] < 0))
            tier += 1
        return [max(tier - 1, 1) if one < 0 else one for one in found]

    def _domains(self, rank: int) -> Domains:
        """Of the level with this rank; the larger the rank, the narrower the level."""
        inside = self.ranks >= rank
        group = list(range(len(self.names)))

        def top(vertex: int) -> int:
            while group[vertex] != vertex:
                group[vertex] = group[group[vertex]]
                vertex = group[vertex]
            return vertex

        both_hosts = ~self.is_switch[self.starts] & ~self.is_switch[self.ends]  # a ring of hosts is no domain
        for edge in np.flatnonzero(inside[self.starts] & inside[self.ends] & ~both_hosts).tolist():
            group[top(int(self.starts[edge]))] = top(int(self.ends[edge]))
        named: dict[int, list[str]] = {}
        for vertex in np.flatnonzero(self.is_switch & (self.ranks == rank)).tolist():
            named.setdefault(top(vertex), []).append(self.names[vertex])
        called = {of: _called(switches) for of, switches in named.items()}
        found = Domains()
        for host in self.hosts:
            if (domain := called.get(top(host))) is not None:
                found.of_host[self.names[host]] = domain
        found.up_mbps = dict.fromkeys(called.values(), 0.0)
        found.headroom_mbps = dict.fromkeys(called.values(), 0.0)
        for edge in np.flatnonzero(inside[self.starts] != inside[self.ends]).tolist():
            start, end = int(self.starts[edge]), int(self.ends[edge])
            domain = called.get(top(start if inside[start] else end))
            if domain is not None:
                found.up_mbps[domain] += float(self.mbps[edge])
                found.headroom_mbps[domain] += float(self.headroom_mbps[edge])
        return found

    def _single(self) -> Domains:
        found = Domains()
        for ends in (self.starts, self.ends):
            for edge, vertex in enumerate(ends.tolist()):
                if not self.is_switch[vertex]:
                    name = self.names[vertex]
                    found.of_host[name] = name
                    found.up_mbps[name] = found.up_mbps.get(name, 0.0) + float(self.mbps[edge])
                    found.headroom_mbps[name] = found.headroom_mbps.get(name, 0.0) + float(self.headroom_mbps[edge])
        return found


def _ranked(topology: Topology, names: list[str], tiers: list[int]) -> tuple[list[TopologyLevel], I4]:
    """The levels, widest first, and by vertex its place among them; hosts come after the last."""
    inner = topology.inner_levels
    if any(level is not None for level in topology.switches.values()):
        place = {level.name: rank for rank, level in enumerate(inner)}
        ranks = [place[topology.switches[name] or ""] if name in topology.switches else len(inner) for name in names]
        return inner, np.array(ranks, dtype=np.int32)
    highest = max(tiers, default=0)
    levels = list(inner)
    while len(levels) < highest:
        levels.insert(0, TopologyLevel(name=_free_name(len(levels), levels)))
    return levels, np.array([len(levels) - tier for tier in tiers], dtype=np.int32)


def _free_name(tier: int, levels: list[TopologyLevel]) -> str:
    name = tier_name(tier)
    return name if all(level.name != name for level in levels) else f"tier-{tier + 1}"


def _called(switches: list[str]) -> str:
    first = min(switches)
    return first if len(switches) == 1 else f"{first}+{len(switches) - 1}"
