"""What the cluster knows of the network: described levels, the domains of hosts, links, and distances set by hand.

Domains are label columns. Where a topology puts a host into a domain, the node carries the label of that level. The
node's own label is kept and comes back when the topology goes. Hosts that are not nodes (yet) are kept too. Only
`Cluster` writes here; it keeps labels and topology consistent.
Guarantees: levels, labels, paths and bandwidths always belong to one description.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dovetail.cluster.arrays import F8, Rows, grown
from dovetail.cluster.labels import LabelColumn
from dovetail.cluster.network.kept_distances import KeptDistances
from dovetail.cluster.network.link_graph import Domains, LinkGraph
from dovetail.cluster.network.link_paths import F4, LinkPaths
from dovetail.model.network.topology import Topology, TopologyLevel, default_link
from dovetail.model.workloads.affinity import HOST

Labels = dict[str, str]
_NOTHING: F8 = np.zeros(0)


class NetworkTopology:
    def __init__(self) -> None:
        self.definition = Topology()
        self.version = 0  # grows with every change, also of distances
        self.levels: tuple[TopologyLevel, ...] = ()  # as described, widest first, without the single host
        self.paths: LinkPaths | None = None
        self.distances = DistancesByHand()
        self.measured = MeasuredDistances()
        self.bandwidth = ReservedBandwidth()
        self.kept_classes: tuple[object, Rows] | None = None  # `levels.class_codes`, and what it was made of
        self.kept_codes: tuple[object, dict[str, Rows]] = ((), {})  # `domains.domain_codes`, likewise
        self.kept_steps: tuple[object, list[tuple[LabelColumn, float]]] = ((), [])  # `distance._steps`, likewise
        self.kept_uplinks: tuple[object, dict[str, F8]] = ((), {})  # `levels.bandwidth_of`, likewise
        self.kept_distances: KeptDistances | None = None  # `distance.distances_from`, where some are measured
        self._domains: dict[str, Domains] = {}  # by level, where links say
        self._keys: dict[str, str] = {}  # by level or rule: the label that names the domain
        self._places: dict[str, Labels] = {}  # by host
        self._own: dict[str, Labels] = {}  # of nodes that carry labels from here: what they say of themselves

    def __bool__(self) -> bool:
        """Is there a description?"""
        return self.definition != Topology()

    def set(self, definition: Topology) -> None:
        graph = LinkGraph(definition) if definition.links else None
        paths = None if graph is None else LinkPaths(graph, definition.weights)
        levels = definition.inner_levels if graph is None else graph.levels
        keys = {level.name: level.key for level in levels} | {rule.name: rule.name for rule in definition.rules}
        places = {
            host: {keys[level]: domain for level, domain in place.items()}
            for host, place in definition.places().items()
        }
        if graph is not None and paths is not None:
            for level in reversed(levels):
                for host, domain in graph.domains[level.name].of_host.items():
                    places.setdefault(host, {}).setdefault(level.key, domain)
            for rule in definition.rules:
                for host, group in paths.groups(rule).items():
                    places.setdefault(host, {})[rule.name] = group
        else:
            for rule in definition.rules:
                keys[rule.name] = _widest_within(levels, rule.hops)
        self.definition, self.levels, self.paths = definition, tuple(levels), paths
        self._domains = {} if graph is None else graph.domains
        self._keys, self._places = keys, places
        self.version += 1

    @property
    def hosts(self) -> Iterable[str]:
        """Those that are described, nodes or not."""
        return self._places.keys() | (self.paths.class_of.keys() if self.paths is not None else set())

    @property
    def has_speeds(self) -> bool:
        """Does it say how fast links are? Distances follow from that only where it does."""
        return self.paths is not None or any(level.says_how_fast for level in self.definition.levels)

    def key_of(self, level: str) -> str | None:
        """The label of a level or rule that is described; HOST where each node is a domain of its own."""
        return self._keys.get(level)

    # --- labels ----------------------------------------------------------------------------------------------

    def applied_labels(self, node: str, own: Labels) -> Labels:
        """The labels a node carries, given those it says of itself."""
        place = self._places.get(node)
        if not place:
            self._own.pop(node, None)
            return own
        self._own[node] = dict(own)
        return {**own, **place}

    def own_labels(self, node: str, applied: Labels) -> Labels:
        """The inverse."""
        return self._own.get(node, applied)

    def forget(self, node: str) -> None:
        self._own.pop(node, None)

    # --- links up --------------------------------------------------------------------------------------------

    def up(self, level: str, domain: str) -> tuple[float, float]:
        """Bandwidth of the links from a domain to the next wider level, in Mbps: all of it, and what other traffic
        leaves of it."""
        by_links = self._domains.get(level)
        if by_links is not None:
            return by_links.up_mbps.get(domain, 0.0), by_links.headroom_mbps.get(domain, 0.0)
        if level == HOST:
            mbps = self.definition.host_link.mbps
        else:
            described = next((one for one in self.levels if level in (one.name, one.key)), None)
            mbps = default_link(level).mbps if described is None else described.mbps
        return float(mbps), float(mbps)

    def limits_up(self, level: str, domain: str) -> bool:
        """Does it say what the links up from a domain carry? Else `up` is what such links usually do."""
        by_links = self._domains.get(level)
        if by_links is not None:
            return domain in by_links.up_mbps
        if level == HOST:
            return self.definition.host_link.bandwidth is not None
        return any(level in (one.name, one.key) and one.bandwidth is not None for one in self.levels)


def _widest_within(levels: list[TopologyLevel], hops: int) -> str:
    """The label of the widest level in which no two nodes are farther apart."""
    up = 1  # links from a node to the middle of a domain of the narrowest level
    found = HOST
    for level in reversed(levels):
        if 2 * up > hops:
            break
        found = level.key
        up += 1
    return found


class DistancesByHand:
    """Distances between two nodes that an operator set; the same in both directions, and kept when a node goes and
    comes back."""

    def __init__(self) -> None:
        self._pairs: dict[str, dict[str, float]] = {}

    def __len__(self) -> int:
        return sum(len(others) for others in self._pairs.values()) // 2

    def set(self, one: str, other: str, distance: float | None) -> None:
        """None: forget it."""
        for start, end in ((one, other), (other, one)):
            if distance is not None:
                self._pairs.setdefault(start, {})[end] = distance
            elif start in self._pairs:
                self._pairs[start].pop(end, None)
                if not self._pairs[start]:
                    del self._pairs[start]

    def clear(self) -> None:
        self._pairs.clear()

    def of(self, node: str) -> Mapping[str, float]:
        return self._pairs.get(node, {})

    def get(self, one: str, other: str) -> float | None:
        return self._pairs.get(one, {}).get(other)

    def all(self) -> list[tuple[str, str, float]]:
        """Each pair once, by name."""
        return sorted(
            (one, other, distance)
            for one, others in self._pairs.items()
            for other, distance in others.items()
            if one < other
        )


class MeasuredDistances:
    """What measurements say: float32[node, node], nan where they say nothing. Kept by name, as nodes come and go."""

    def __init__(self) -> None:
        self.distance: F4 = np.zeros((0, 0), dtype=np.float32)
        self.version = 0  # grows with every change
        self._place: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._place)

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the matrix."""
        return tuple(self._place)

    def set(self, names: Sequence[str], distance: F4) -> None:
        self.distance = distance
        self.version += 1
        self._place = {name: place for place, name in enumerate(names)}

    def places(self, names: Iterable[str]) -> Rows:
        """intp[name]: the row of the matrix for each of them; -1 for one that was not measured."""
        return np.array([self._place.get(name, -1) for name in names], dtype=np.intp)

    def get(self, one: str, other: str) -> float | None:
        start, end = self._place.get(one), self._place.get(other)
        if start is None or end is None or np.isnan(self.distance[start, end]):
            return None
        return float(self.distance[start, end])


class ReservedBandwidth:
    """What is held of the links up from each domain, in Mbps: float64[code], one array a label."""

    def __init__(self) -> None:
        self._held: dict[str, F8] = {}

    def add(self, key: str, codes: Rows, mbps: F8) -> None:
        """For several domains, each once. `key` is the label of the level (`domains.level_key`), codes are those of its
        column; at the level `host` they are rows."""
        if not len(codes):
            return
        held, most = self._held.get(key, _NOTHING), int(codes.max())
        if most >= len(held):
            held = self._held[key] = grown(held, max(16, 2 * most))
        held[codes] += mbps

    def of(self, key: str, codes: int) -> F8:
        """float64[codes]"""
        held = self._held.get(key, _NOTHING)[:codes]
        return grown(held, codes)
