"""Distance between nodes, 0 to 100: the functions for all other packages.

Without a described topology the narrowest level that two nodes share decides: the same node is 0 apart, nodes with
nothing in common are 100 apart, and the levels in use divide the range evenly. Where a topology gives link speeds,
distances follow from them (`path`): by level, or by the shortest path in its graph. Pairs whose links nobody describes
are as far apart as measurements say, where there are any. A distance set by hand overrides all of this.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.labels import ABSENT, LabelColumn
from dovetail.cluster.network.kept_distances import KeptDistances
from dovetail.cluster.network.levels import class_codes, level_paths, present_levels
from dovetail.cluster.network.link_paths import LinkPaths
from dovetail.cluster.network.path import FARTHEST, distances
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology_readers.node_labels import CONVENTIONS

#: Labels that are levels where there is no topology, widest first.
LEVELS = tuple(label for _, label in CONVENTIONS)


def _steps(cluster: Cluster) -> list[tuple[LabelColumn, float]]:
    """Each level, widest first, and how far apart nodes are that share it and no narrower one. Kept until nodes or the
    topology change: scores ask for each of thousands of related tasks."""
    made_of = (cluster.generation, cluster.topology.version, cluster.width)
    kept = cluster.topology.kept_steps
    if kept[0] != made_of:
        kept = cluster.topology.kept_steps = (made_of, _find_steps(cluster))
    return kept[1]


def _find_steps(cluster: Cluster) -> list[tuple[LabelColumn, float]]:
    if not cluster.topology.has_speeds:
        columns = [level.column for level in present_levels(cluster)]
        step = FARTHEST / (len(columns) + 1)
        return [(column, FARTHEST - step * (depth + 1)) for depth, column in enumerate(columns)]
    levels, paths = level_paths(cluster)
    # Where all nodes are in one domain, no two are farther apart than that: the farthest that there are count as such.
    common = 0
    while common < len(levels) and _hold_all(cluster, levels[common].column):
        common += 1
    kinds = np.arange(max(common - 1, 0), len(levels) + (common == 0))
    far = dict(zip(kinds.tolist(), distances(paths.take(kinds), cluster.topology.definition.weights), strict=True))
    return [(level.column, float(far[i])) for i, level in enumerate(levels) if i in far]


def _hold_all(cluster: Cluster, column: LabelColumn) -> bool:
    codes = column.codes[: cluster.width][cluster.status.present[: cluster.width]]
    return bool(codes[0]) and bool((codes == codes[0]).all())


def distances_from(cluster: Cluster, row: int) -> F8:
    """float64[node]: distance of every node from one. Not to be written."""
    if cluster.topology.measured:
        return _kept(cluster).of(row)
    return _set_by_hand(cluster, row, _not_measured(cluster, row, _steps_or_none(cluster)))


def _steps_or_none(cluster: Cluster) -> list[tuple[LabelColumn, float]]:
    return [] if cluster.topology.paths is not None else _steps(cluster)


def _not_measured(cluster: Cluster, row: int, steps: list[tuple[LabelColumn, float]]) -> F8:
    """From one row, as levels or links say."""
    graph = cluster.topology.paths
    found = np.full(cluster.width, FARTHEST)
    if graph is not None:
        _by_graph(cluster, graph, np.array([row]), found)
    for column, distance in steps:
        codes = column.codes[: cluster.width]
        if codes[row]:
            found[codes == codes[row]] = distance
    return found


def _set_by_hand(cluster: Cluster, row: int, found: F8) -> F8:
    """Write what an operator set, and that a node is no way from itself."""
    for other, distance in cluster.topology.distances.of(cluster.names[row]).items():
        if other in cluster.rows:
            found[cluster.rows[other]] = distance
    found[row] = 0.0
    return found


def _kept(cluster: Cluster) -> KeptDistances:
    """Of all nodes, where some are measured."""
    topology = cluster.topology
    made_of = (cluster.generation, topology.version, topology.measured.version, cluster.width)
    if topology.kept_distances is None or topology.kept_distances.made_of != made_of:
        steps, described = _steps_or_none(cluster), described_rows(cluster)
        places = topology.measured.places(cluster.names)
        measured = np.flatnonzero(places >= 0)
        between, said_of = topology.measured.distance, places[measured]

        def compute(row: int) -> F8:
            found = _not_measured(cluster, row, steps)
            if places[row] >= 0:
                said = between[places[row]][said_of]
                use = ~np.isnan(said)
                if described[row]:  # between two that are described, measurements do not count
                    use &= ~described[measured]
                found[measured[use]] = said[use]
            return _set_by_hand(cluster, row, found)

        topology.kept_distances = KeptDistances(made_of, cluster.width, compute)
    return topology.kept_distances


def described_rows(cluster: Cluster) -> B1:
    """bool[node]: whose links are described."""
    topology = cluster.topology
    if topology.paths is not None:
        return class_codes(cluster) >= 0
    found = np.zeros(cluster.width, dtype=np.bool_)
    if topology.has_speeds:
        for level in present_levels(cluster):
            found |= level.column.codes[: cluster.width] != ABSENT
    return found


def distance_to(cluster: Cluster, rows: Rows) -> F8:
    """float64[node]: distance of every node from the nearest of the rows; FARTHEST if there are none."""
    found = np.full(cluster.width, FARTHEST)
    if not len(rows):
        return found
    if cluster.topology.measured:
        return _kept(cluster).nearest(rows)
    by_hand, graph = cluster.topology.distances, cluster.topology.paths
    # A distance that was set by hand may also be longer than the others: these rows are looked at one by one.
    single = [row for row in np.unique(rows).tolist() if by_hand.of(cluster.names[row])] if len(by_hand) else []
    others = rows if not single else np.setdiff1d(rows, single)
    if graph is not None:
        _by_graph(cluster, graph, others, found)
    else:
        for column, distance in _steps(cluster):
            codes = column.codes[: cluster.width]
            met = np.zeros(len(column.vocabulary) + 1, dtype=np.bool_)
            met[codes[others]] = True
            met[ABSENT] = False
            found[met[codes]] = distance
    for row in single:
        np.minimum(found, distances_from(cluster, row), out=found)
    found[rows] = 0.0
    return found


def _by_graph(cluster: Cluster, graph: LinkPaths, rows: Rows, found: F8) -> None:
    """Write the distance from the nearest of the rows; nodes that are not in the graph keep what they have."""
    classes = class_codes(cluster)
    starts = np.unique(classes[rows])
    starts = starts[starts >= 0]
    known = np.flatnonzero(classes >= 0)
    if len(starts) and len(known):
        found[known] = graph.distance[starts].min(axis=0)[classes[known]]


def proximity_to(cluster: Cluster, rows: list[int]) -> F8:
    """float64[node]: sum over `rows` (one entry a task) of 1 - distance / 100."""
    found = np.zeros(cluster.width)
    distinct, counts = np.unique(np.array(rows), return_counts=True)
    for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        found += count * (1.0 - distances_from(cluster, row) / FARTHEST)
    return found
