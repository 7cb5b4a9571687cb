"""The levels that nodes are in, as arrays; what lies between nodes that share one, and what the links up carry.

Where a topology is described, its levels count; else those of the usual labels that some node carries. Of links that
nobody described, `model.topology.DEFAULT_LINKS` says what they are like. Widest first; nodes that share nothing meet
above the widest. In a graph of links, paths are those of the graph.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.domains import level_column, level_key
from dovetail.cluster.labels import ABSENT, LabelColumn
from dovetail.cluster.path import Path, Paths
from dovetail.cluster.state import Cluster
from dovetail.model.company import HOST
from dovetail.model.topology import TopologyLevel
from dovetail.model.topology_readers.node_labels import levels_in


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
        return found if np.isfinite(found.latency_us) else None
    levels, paths = level_paths(cluster)
    met = shared_level(levels, one, other)
    found = paths.at(len(levels) if met is None else met)
    below = levels[0 if met is None else met + 1 :]
    left = [bandwidth_of(cluster, HOST)[2][row] for row in (one, other)]
    for level in below:
        headroom = bandwidth_of(cluster, level.name)[2]
        codes = (int(level.column.codes[row]) for row in (one, other))
        left += [headroom[code] for code in codes if code != ABSENT]
    return Path(found.hops, found.latency_us, found.mbps, float(max(min(left), 0.0)), found.loss)


def shared_level(levels: list[PresentLevel], one: int, other: int) -> int | None:
    """The narrowest level in which both rows are in one domain."""
    for index in range(len(levels) - 1, -1, -1):
        codes = levels[index].column.codes
        if codes[one] and codes[one] == codes[other]:
            return index
    return None


def within_hops(cluster: Cluster, row: int, hops: int) -> B1:
    """bool[node]: those at most so many links away, the node itself among them."""
    found = np.zeros(cluster.width, dtype=np.bool_)
    graph = cluster.topology.paths
    if graph is not None:
        mine = graph.class_of.get(cluster.names[row])
        if mine is not None:
            near = graph.within(mine, hops)
            classes = class_codes(cluster)
            found = (classes >= 0) & near[classes]
    else:
        levels, paths = level_paths(cluster)
        for index, level in enumerate(levels):
            codes = level.column.codes[: cluster.width]
            if codes[row] and paths.hops[index] <= hops:
                found |= codes == codes[row]
        if paths.hops[-1] <= hops:
            found[:] = True
    found &= cluster.present[: cluster.width]
    found[row] = True
    return found


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
    """float64[code] in Mbps, for the links up from each domain of a level: what they carry, what is held of it, and
    what is left after that and other traffic. At the level `host` a code is a row. Code 0 has nothing."""
    topology, key = cluster.topology, level_key(cluster, level) or HOST
    if key == HOST:
        domains: list[str] = cluster.names
    else:
        column = level_column(cluster, level)
        domains = [""] if column is None else ["", *column.vocabulary]
    name = next((one.name for one in topology.levels if one.key == key), key)
    carried = [topology.up(name, domain) if domain else (0.0, 0.0) for domain in domains]
    both = np.array(carried).reshape(-1, 2)
    held = topology.bandwidth.of(key, len(domains))
    return both[:, 0], held, both[:, 1] - held
