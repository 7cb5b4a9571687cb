"""Equal nodes are evaluated once: on a cluster bought in batches most empty nodes are equal."""

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.placement.fragmentation.node_arrays import NodeArrays

#: Fewer nodes than this are judged one by one sooner than compared.
WORTH_COMPARING = 256


def one_of_each(nodes: NodeArrays) -> tuple[Rows, Rows] | None:
    """Nodes that differ, and for every node which of them it equals; None where comparing does not pay."""
    if len(nodes.state) < WORTH_COMPARING or nodes.kinds is not None:
        return None
    state = nodes.state.copy()
    NodeArrays(state, None).free.sort(axis=1)
    as_one = state.view(np.dtype((np.void, state.itemsize * state.shape[1]))).ravel()
    _, first, which = np.unique(as_one, return_index=True, return_inverse=True)
    return first, which
