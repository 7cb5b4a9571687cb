"""Distance between nodes, 0 to 100, from the labels that say behind which switch, in which rack and zone a node is.

The narrowest level two nodes share decides: the same node is 0 apart, nodes with nothing in common 100, and the
levels that some node carries divide the way between evenly.
"""

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.labels import ABSENT, LabelColumn
from dovetail.cluster.state import Cluster

#: Widest first.
LEVELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", "spine", "leaf", "rack")

FARTHEST = 100.0


def _columns(cluster: Cluster) -> list[LabelColumn]:
    known = [cluster.labels.columns[level] for level in LEVELS if level in cluster.labels.columns]
    # A column outlives the last node that carried its label.
    return [column for column in known if column.codes.any()]


def distances_from(cluster: Cluster, row: int) -> F8:
    """float64[node]: distance of every node from one."""
    columns = _columns(cluster)
    found = np.full(cluster.width, FARTHEST)
    step = FARTHEST / (len(columns) + 1)
    for depth, column in enumerate(columns):
        codes = column.codes[: cluster.width]
        if codes[row]:
            found[codes == codes[row]] = FARTHEST - step * (depth + 1)
    found[row] = 0.0
    return found


def distance_to(cluster: Cluster, rows: Rows) -> F8:
    """float64[node]: distance of every node from the nearest of the rows; FARTHEST if there are none."""
    found = np.full(cluster.width, FARTHEST)
    if not len(rows):
        return found
    columns = _columns(cluster)
    step = FARTHEST / (len(columns) + 1)
    for depth, column in enumerate(columns):
        codes = column.codes[: cluster.width]
        met = np.zeros(len(column.vocabulary) + 1, dtype=np.bool_)
        met[codes[rows]] = True
        met[ABSENT] = False
        found[met[codes]] = FARTHEST - step * (depth + 1)
    found[rows] = 0.0
    return found


def proximity_to(cluster: Cluster, rows: list[int]) -> F8:
    """float64[node]: sum over `rows` (one entry a task) of 1 - distance / 100."""
    found = np.zeros(cluster.width)
    distinct, counts = np.unique(np.array(rows), return_counts=True)
    for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        found += count * (1.0 - distances_from(cluster, row) / FARTHEST)
    return found
