"""Nodes as they would be with one more task; for a share of a GPU, once for each device that it might get.

Devices of equal kind with as much left are equal: the first stands for all. Whole devices are taken lowest first; which
ones the task really gets (`cluster.devices.choose`) matters only on a node with several kinds.
"""

from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.model.device import WHOLE
from dovetail.placement.fragmentation.node_arrays import NodeArrays


class Candidates(NamedTuple):
    """All `[candidate]`, by ascending node. `slot` is the device of a share; None for whole ones and for none."""

    row: Rows
    slot: Rows | None
    nodes: NodeArrays

    def least(self, losses: F8, before: NodeArrays) -> F8:
        """float64[node]: the least loss of any of its candidates; all of the node where there is none."""
        number = len(before.state)
        if len(self.row) == number and bool((self.row == np.arange(number)).all()):
            return losses  # most often each has one
        found: F8 = np.add.reduce(before.free, axis=1)
        if self.slot is None:
            found[self.row] = losses
        elif len(self.row):
            first = np.concatenate(([0], 1 + np.flatnonzero(self.row[1:] != self.row[:-1])))
            found[self.row[first]] = np.minimum.reduceat(losses, first)
        return found


def after_one_more(
    nodes: NodeArrays, suitable: B1 | None, cpu: float, memory: float, count: int, share: int
) -> Candidates:
    """`suitable`: bool[node, slot], devices that the task allows; None where it needs none. Nodes whose devices do not
    fit have no candidate; where CPU or memory is short (possible with measured usage), nothing is left."""
    slots: Rows | None = None
    if suitable is None:
        rows = np.arange(len(nodes.state))
        left = NodeArrays(nodes.state.copy(), nodes.kinds)
    elif count:
        whole = suitable & (nodes.free == WHOLE)
        rows = np.flatnonzero(np.add.reduce(whole, axis=1, dtype=np.intp) >= count)
        left = nodes.take(rows)
        taken = whole[rows]
        taken &= np.cumsum(taken, axis=1) <= count
        left.free[taken] = 0.0
    else:
        rows, slots = np.nonzero(_first_of_equals(suitable & (nodes.free >= share), nodes))
        left = nodes.take(rows)
        left.free[np.arange(len(rows)), slots] -= share
    used = left.state[:, :2]
    used -= (cpu, memory)
    np.maximum(used, 0.0, out=used)
    return Candidates(rows, slots, left)


def _first_of_equals(fits: B1, nodes: NodeArrays) -> B1:
    left = np.where(fits, nodes.free, -1.0)  # only those that fit can be alike
    same = left[:, :, None] == left[:, None, :]
    if nodes.kinds is not None:
        same &= nodes.kinds[:, :, None] == nodes.kinds[:, None, :]
    first = same.argmax(axis=2)  # the first that each is like: itself, or one before it
    return fits & (first == np.arange(left.shape[1]))  # type: ignore[no-any-return]
