"""The bandwidth left between one node and all others: the least of the links on the path.

The same as `levels.path_between` for all nodes at once. It is infinite from a node to itself, and 0 where no path is
known.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.levels import class_codes, left_by_levels
from dovetail.cluster.state import Cluster


def headroom_from(cluster: Cluster, row: int) -> F8:
    """float64[node], in Mbps."""
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
