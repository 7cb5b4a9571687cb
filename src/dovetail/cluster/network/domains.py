"""Domains: the nodes that share one value of a level's label. A node without the label is a domain of its own.

Sums over a domain are given to each of its nodes, so a score about domains is an array over nodes like any other.
"""

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8
from dovetail.cluster.labels import LabelColumn
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology_readers.node_labels import CONVENTIONS
from dovetail.model.workloads.affinity import HOST

#: By name of a level, the labels that Kubernetes and the clouds have for it; a label of the plain name goes first.
CONVENTIONAL: dict[str, list[str]] = {}
for _name, _label in CONVENTIONS:
    CONVENTIONAL.setdefault(_name, []).append(_label)
#: Levels at which every node is a domain of its own.
SINGLE = frozenset({HOST, "node"})
#: Before the key of a label: that label and no other, whatever levels are called.
BY_LABEL = "label:"


def level_column(cluster: Cluster, level: str) -> LabelColumn | None:
    """The label that says in which domain of a level a node is; None: each is a domain of its own."""
    key = level_key(cluster, level)
    return None if key is None else cluster.labels.columns.get(key)


def level_key(cluster: Cluster, level: str) -> str | None:
    """The key of that label: what the topology says, or the name of the level, or what it is usually called."""
    if level in SINGLE:
        return None
    if level.startswith(BY_LABEL):
        return level.removeprefix(BY_LABEL)
    if (described := cluster.topology.key_of(level)) is not None:
        return None if described == HOST else described
    columns = cluster.labels.columns
    found = columns.get(level)
    if level in CONVENTIONAL and (found is None or not found.codes.any()):
        for key in CONVENTIONAL[level]:
            if key in columns and columns[key].codes.any():
                return key
    return level


def domain_codes(cluster: Cluster, level: str) -> npt.NDArray[np.intp]:
    """intp[node]: equal for nodes of one domain. Kept until nodes or the topology change; not to be written."""
    made_of = (cluster.generation, cluster.topology.version, cluster.width)
    if cluster.topology.kept_codes[0] != made_of:
        cluster.topology.kept_codes = (made_of, {})
    kept = cluster.topology.kept_codes[1]
    if level not in kept:
        own = np.arange(cluster.width)
        column = level_column(cluster, level)
        if column is not None:
            codes = column.codes[: cluster.width]
            own = np.where(codes > 0, codes, len(column.vocabulary) + 1 + own)
        kept[level] = own
    return kept[level]


def domain_sum(cluster: Cluster, level: str, values: F8) -> F8:
    """float64[node]: the sum of `values` over the node's domain."""
    codes = domain_codes(cluster, level)
    found: F8 = np.bincount(codes, weights=values).astype(np.float64)[codes]
    return found
