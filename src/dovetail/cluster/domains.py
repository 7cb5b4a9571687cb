"""Domains: the nodes behind one switch. A node without the level's label is a domain of its own.

Sums over a domain are given to each of its nodes, so that a score about domains is an array over nodes like any other.
"""

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8
from dovetail.cluster.labels import LabelColumn
from dovetail.cluster.state import Cluster
from dovetail.model.company import HOST

#: What a level is called where no node carries a label of the plain name.
CONVENTIONAL = {"region": "topology.kubernetes.io/region", "zone": "topology.kubernetes.io/zone"}
#: Levels at which every node is a domain of its own.
SINGLE = frozenset({HOST, "node"})


def level_column(cluster: Cluster, level: str) -> LabelColumn | None:
    """The label that says in which domain of a level a node is; None: each is a domain of its own."""
    if level in SINGLE:
        return None
    columns = cluster.labels.columns
    found = columns.get(level)
    if found is None or (level in CONVENTIONAL and not found.codes.any()):
        found = columns.get(CONVENTIONAL.get(level, level))
    return found


def domain_codes(cluster: Cluster, level: str) -> npt.NDArray[np.intp]:
    """intp[node]: equal for nodes of one domain."""
    own = np.arange(cluster.width)
    column = level_column(cluster, level)
    if column is None:
        return own
    codes = column.codes[: cluster.width]
    return np.where(codes > 0, codes, len(column.vocabulary) + 1 + own)


def domain_sum(cluster: Cluster, level: str, values: F8) -> F8:
    """float64[node]: the sum of `values` over the node's domain."""
    codes = domain_codes(cluster, level)
    found: F8 = np.bincount(codes, weights=values).astype(np.float64)[codes]
    return found
