"""How much of a node's free GPU capacity the expected workload mix cannot use: fragments, and what is stranded.

In thousandths of GPUs, with G free on the node, C and M its free CPU and memory:

    fragments  G - sum over asks of weight x (what lies on devices with room for it, if one task of it fits there now)
    stranded   sum over asks of volume x max(0, G' - the GPUs that C and M suffice for at its CPU and memory a GPU)

where G' is what of G is of a model the ask allows. The first is the fragment of FGD ("Beware of Fragmentation", USENIX
ATC 2023). The second shows what one more task does not show yet: GPUs that remain when the CPU is used up.
Guarantees: depends on the node's own row alone, to the bit. Left to others: reserved GPUs and islands are ignored here.
"""

from collections.abc import Sequence

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.fragmentation.node_arrays import NodeArrays
from dovetail.placement.fragmentation.typical import Kind, Sizes, Typical


def unusable(typical: Typical, kinds: Sequence[Kind], nodes: NodeArrays) -> F8:
    """float64[node]: fragments + stranded."""
    weights, volumes = typical.by_kind(kinds)
    kind = nodes.kind.astype(np.intp)
    if nodes.kinds is not None:
        np.maximum(kind, 0, out=kind)
    gpu: F8 = np.add.reduce(nodes.free, axis=1)
    size = typical.sizes
    reached = _reached(size, nodes)
    reached *= weights.take(kind, axis=0)
    found: F8 = gpu - np.add.reduce(reached, axis=1)
    found += _stranded(size, nodes, gpu[:, None], volumes.take(kind, axis=0))
    if nodes.kinds is not None:
        for row in np.flatnonzero(nodes.mixed).tolist():
            found[row] = _of_mixed(typical, kinds, nodes.take(np.array([row])))
    return found


def _reached(size: Sizes, nodes: NodeArrays) -> F8:
    """float64[node, size]: free capacity on devices that fit a task of this size, 0 where none fits."""
    free = nodes.free
    slots = free.shape[1]
    if not slots:
        return np.zeros((len(free), len(size.cpu)))
    # So many devices have room if the last of so many, the largest first, has.
    last = np.sort(free, axis=1).take(slots - size.number, axis=1, mode="clip")
    hosts = last >= size.part
    if size.most > slots:
        hosts &= size.number <= slots
    hosts &= nodes.cpu[:, None] >= size.cpu
    hosts &= nodes.memory[:, None] >= size.memory
    # Slot by slot: whole planes are added up, which is several times as fast as adding the few slots of each node.
    by_slot = np.ascontiguousarray(free.T)
    sums = np.einsum("snl,sn->nl", by_slot[:, :, None] >= size.levels, by_slot)
    # Taken, not indexed: rows stay contiguous, so that a row sums up to the same bits whatever others are asked for.
    found: F8 = sums.take(size.each, axis=1)
    found *= hosts
    return found


def _stranded(size: Sizes, nodes: NodeArrays, gpu: F8, volumes: F8) -> F8:
    short = nodes.cpu[:, None] * size.per_cpu
    np.minimum(short, nodes.memory[:, None] * size.per_memory, out=short)
    np.subtract(gpu, short, out=short)
    np.maximum(short, 0.0, out=short)
    short *= volumes
    return np.add.reduce(short, axis=1)  # type: ignore[no-any-return]


def _of_mixed(typical: Typical, kinds: Sequence[Kind], node: NodeArrays) -> float:
    """One node with devices of several kinds: each ask sees those that it allows."""
    assert node.kinds is not None
    allowed = typical.allowed(kinds)
    size = typical.ask_sizes
    codes, free = node.kinds[0], node.free[0]
    seen = allowed[codes].T & (codes > 0)  # bool[ask, slot]
    fits = seen & (free >= size.part[:, None])
    hosts = (fits.sum(axis=1) >= size.number) & (node.cpu >= size.cpu) & (node.memory >= size.memory)
    reached = (fits * free).sum(axis=1) * hosts
    gpu = (seen * free).sum(axis=1)
    stranded = _stranded(size, node, gpu[None, :], typical.volumes[None, :])
    return float(free.sum() - (reached * typical.weights).sum() + stranded[0])
