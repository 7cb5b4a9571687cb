"""The topology levels of nodes as arrays, the links between nodes that share one, and what the uplinks carry.

If a topology is described, its levels count; otherwise those of the usual labels that some node carries. Links that
the topology does not describe are as `model.topology.DEFAULT_LINKS` says. Levels are ordered widest first; nodes that
share none meet above the widest. In a graph of links, paths are those of the graph.
"""

from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.labels import ABSENT, LabelColumn
from dovetail.cluster.network.domains import level_key
from dovetail.cluster.network.gang_flows import Column
from dovetail.cluster.network.path import Path, Paths
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import TopologyLevel
from dovetail.model.network.topology_readers.node_labels import levels_in
from dovetail.model.workloads.affinity import HOST


@dataclass(frozen=True, slots=True)
class PresentLevel:
    """A level that some node is in. `column` holds the code of each node's domain, 0 for a node that is in none."""

    level: TopologyLevel
    column: LabelColumn

    @property
    def name(self) -> str:
        return self.level.name

    def domain(self, code: int) -> str:
        return self.column.vocabulary[code - 1]


def present_levels(cluster: Cluster) -> list[PresentLevel]:
    """Widest first."""
    # A column outlives the last node that carried its label.
    carried = {key: column for key, column in cluster.labels.columns.items() if column.codes.any()}
    levels = cluster.topology.levels if cluster.topology else levels_in(set(carried))
    return [PresentLevel(level, carried[level.key]) for level in levels if level.key in carried]


def narrowest_level(cluster: Cluster) -> str | None:
    """The label of the narrowest of them at which nodes share domains; None: no node has a place in the network."""
    for present in reversed(present_levels(cluster)):
        codes = present.column.codes[: cluster.width]
        if np.bincount(codes[codes != ABSENT], minlength=1).max() > 1:
            return present.level.key
    return None


# --- ways ----------------------------------------------------------------------------------------------------


def level_paths(cluster: Cluster) -> tuple[list[PresentLevel], Paths]:
    """What lies between two nodes that share the i-th level and no narrower one; last, between nodes that share none.
    From one up to the middle of the domain they share, and down again."""
    levels, host = present_levels(cluster), cluster.topology.definition.host_link
    links = [host, *(level.level for level in reversed(levels))]
    loss = np.array([min(link.loss, 1.0 - 1e-12) for link in links])
    mbps = np.minimum.accumulate(np.array([float(link.mbps) for link in links]))
    up = Paths(
        np.arange(1.0, len(links) + 1.0),
        np.cumsum([float(link.latency_ns) for link in links]),
        mbps,
        mbps,
        np.cumsum(-np.log1p(-loss)),
    )
    # Nodes of the narrowest level take the link of the host only: there and back.
    both = up.joined(up)
    order = [*range(len(levels) - 1, -1, -1), len(levels)]
    return levels, both.take(np.array(order))


def path_between(cluster: Cluster, one: int, other: int) -> Path | None:
    """Between two rows; None where there is no way, or it is not known: one of them is not in the graph."""
    if one == other:
        return Path(0, 0.0, np.inf, np.inf, 0.0)
    graph = cluster.topology.paths
    if graph is not None:
        classes = [graph.class_of.get(cluster.names[row]) for row in (one, other)]
        if classes[0] is None or classes[1] is None:
            return None
        found = graph.from_class(classes[0]).at(classes[1])
        if not np.isfinite(found.latency_us):
            return None
        left = min(found.headroom_mbps, float(left_by_levels(cluster, one, only_held=True)[other]))
    else:
        levels, paths = level_paths(cluster)
        met = shared_level(levels, one, other)
        found = paths.at(len(levels) if met is None else met)
        left = float(left_by_levels(cluster, one)[other])
    return replace(found, headroom_mbps=max(left, 0.0))


def shared_level(levels: list[PresentLevel], one: int, other: int) -> int | None:
    """The narrowest level in which both rows are in one domain."""
    for index in range(len(levels) - 1, -1, -1):
        codes = levels[index].column.codes
        if codes[one] and codes[one] == codes[other]:
            return index
    return None


def class_codes(cluster: Cluster) -> Rows:
    """intp[node]: the class of each node in the graph of links, -1 for one that is not in it."""
    graph = cluster.topology.paths
    assert graph is not None, "there is no graph"
    kept = cluster.topology.kept_classes
    key = (cluster.generation, cluster.topology.version, cluster.width)
    if kept is None or kept[0] != key:
        codes = np.array([graph.class_of.get(name, -1) for name in cluster.names], dtype=np.intp)
        kept = cluster.topology.kept_classes = (key, codes)
    return kept[1]


# --- links up ------------------------------------------------------------------------------------------------


def bandwidth_of(cluster: Cluster, level: str) -> tuple[F8, F8, F8]:
    """float64[code] in Mbps, for the uplinks of each domain of a level: their capacity, how much of it is held, and
    what is left after that and other traffic. At the level `host` a code is a row. Code 0 has nothing."""
    topology, key = cluster.topology, level_key(cluster, level) or HOST
    carried, left, _ = _described_up(cluster, key)
    _settle_flows(cluster)
    held = topology.bandwidth.of(key, len(carried))
    return carried, held, left - held


def left_by_levels(cluster: Cluster, row: int, *, only_held: bool = False) -> F8:
    """float64[node], in Mbps: the least that is left on the uplinks between one row and every other. With `only_held`,
    only links with held bandwidth count: a graph describes the others."""
    left = _left_up(cluster, HOST, only_held)[: cluster.width]
    found: F8 = np.minimum(left, left[row])
    apart = np.ones(cluster.width, dtype=np.bool_)  # shares no level looked at so far
    for level in reversed(present_levels(cluster)):
        codes = level.column.codes[: cluster.width]
        if codes[row] != ABSENT:
            apart &= codes != codes[row]
        up = _left_up(cluster, level.name, only_held)
        up[ABSENT] = np.inf  # no link of this level on the way
        found[apart] = np.minimum(found, np.minimum(up[codes], up[codes[row]]))[apart]
    return found


def _left_up(cluster: Cluster, level: str, only_held: bool) -> F8:
    _, held, left = bandwidth_of(cluster, level)
    return np.where(held > 0, left, np.inf) if only_held else left.copy()


def limited_up(cluster: Cluster, level: str) -> B1:
    """bool[code]: of which domains it is described what their links up carry; of the others that is not known."""
    found: B1 = _described_up(cluster, level_key(cluster, level) or HOST)[2] > 0
    return found


def _described_up(cluster: Cluster, key: str) -> F8:
    """float64[3, code]: what the links up from each domain carry, what other traffic leaves of it, and 1 where that is
    described. Kept until nodes or the topology change; not to be written."""
    topology = cluster.topology
    made_of = (cluster.generation, topology.version, cluster.width)
    if topology.kept_uplinks[0] != made_of:
        topology.kept_uplinks = (made_of, {})
    kept = topology.kept_uplinks[1]
    if key not in kept:
        column = None if key == HOST else cluster.labels.columns.get(key)
        domains = cluster.names if key == HOST else [""] if column is None else ["", *column.vocabulary]
        name = next((one.name for one in topology.levels if one.key == key), key)
        nothing = (0.0, 0.0, 0.0)
        capacities = [
            (*topology.up(name, one), 1.0 * topology.limits_up(name, one)) if one else nothing for one in domains
        ]
        kept[key] = np.array(capacities).reshape(-1, 3).T
    return kept[key]


def _settle_flows(cluster: Cluster) -> None:
    """What gangs hold, as they lie now."""
    flows, as_of = cluster.placements.flows, (cluster.generation, cluster.topology.version)
    if not flows.is_settled(as_of):
        columns: list[Column] = [(level.level.key, level.column.codes) for level in present_levels(cluster)]
        flows.settle(cluster.topology.bandwidth, [*columns, (HOST, None)], as_of)


def headroom_from(cluster: Cluster, row: int) -> F8:
    """float64[node], in Mbps: what is left between one node and every other, as `path_between` says for one of them;
    infinite from a node to itself, and 0 where no path is known."""
    graph = cluster.topology.paths
    found = left_by_levels(cluster, row) if graph is None else _by_graph(cluster, row)
    found = np.maximum(found, 0.0)
    found[row] = np.inf
    return found


def _by_graph(cluster: Cluster, row: int) -> F8:
    graph = cluster.topology.paths
    assert graph is not None, "asked only where there is one"
    classes = class_codes(cluster)
    found = np.zeros(cluster.width)
    if classes[row] >= 0:
        known = np.flatnonzero(classes >= 0)
        found[known] = graph.from_class(int(classes[row])).headroom_mbps[classes[known]]
    # The graph knows what links carry and what other traffic takes of it, gangs know what they hold.
    return np.minimum(found, left_by_levels(cluster, row, only_held=True))
