"""What is left of the bandwidth between one node and all others: the least of the links on the way.

The same as `levels.path_between` says of two, for all nodes at once. From a node to itself it is endless; where there
is no way, or it is not known, there is none.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.levels import bandwidth_of, class_codes, present_levels
from dovetail.cluster.state import Cluster
from dovetail.model.company import HOST


def headroom_from(cluster: Cluster, row: int) -> F8:
    """float64[node], in Mbps."""
    graph = cluster.topology.paths
    found = _by_levels(cluster, row) if graph is None else _by_graph(cluster, row)
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
    return found


def _by_levels(cluster: Cluster, row: int) -> F8:
    left = bandwidth_of(cluster, HOST)[2][: cluster.width]
    found: F8 = np.minimum(left, left[row])
    apart = np.ones(cluster.width, dtype=np.bool_)  # shares no level looked at so far
    for level in reversed(present_levels(cluster)):
        codes = level.column.codes[: cluster.width]
        if codes[row] != ABSENT:
            apart &= codes != codes[row]
        up = bandwidth_of(cluster, level.name)[2].copy()
        up[ABSENT] = np.inf  # no link of this level on the way
        found[apart] = np.minimum(found, np.minimum(up[codes], up[codes[row]]))[apart]
    return np.maximum(found, 0.0)
