"""The input of the loss computation: one row of numbers a node, so that taking and joining nodes are single operations.

    state   float64[node, 3 + slot]: free CPU and memory, the kind of its devices, and what is free of each device
    kinds   int32[node, slot]: the kind of each device; None where no node has several

The kind of a node is 0 where it has no devices and SEVERAL where they differ. Nothing else is below 0.
"""

from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, I4, Rows
from dovetail.cluster.devices import SEVERAL
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, MEMORY
from dovetail.placement.fragmentation.typical import Typical

_FIRST_SLOT = 3
#: Fewer nodes than this are judged one by one sooner than compared.
WORTH_COMPARING = 256
_NEVER = -2.0  # no node is like that


class NodeArrays(NamedTuple):
    state: F8
    kinds: I4 | None

    @property
    def cpu(self) -> F8:
        return self.state[:, 0]

    @property
    def memory(self) -> F8:
        return self.state[:, 1]

    @property
    def kind(self) -> F8:
        return self.state[:, 2]

    @property
    def free(self) -> F8:
        """float64[node, slot]: thousandths of each device."""
        return self.state[:, _FIRST_SLOT:]

    @property
    def mixed(self) -> B1:
        """bool[node]: its devices are of several kinds."""
        found: B1 = self.state[:, 2] == SEVERAL
        return found

    def take(self, rows: Rows) -> "NodeArrays":
        return NodeArrays(self.state[rows], None if self.kinds is None else self.kinds[rows])

    def joined(self, other: "NodeArrays") -> "NodeArrays":
        """These, then those; both were made of one view."""
        kinds = None
        if self.kinds is not None and other.kinds is not None:
            kinds = np.concatenate((self.kinds, other.kinds))
        return NodeArrays(np.concatenate((self.state, other.state)), kinds)


def of_view(view: View) -> NodeArrays:
    cpu, memory = view.free(CPU), view.free(MEMORY)
    assert cpu is not None
    assert memory is not None
    state = np.empty((view.size, _FIRST_SLOT + view.device_slots))
    state[:, 0] = cpu
    state[:, 1] = memory
    state[:, _FIRST_SLOT:] = view.device_free
    np.maximum(state, 0.0, out=state)
    kind = view.device_kind
    state[:, 2] = kind
    mixed = view.has_mixed_devices and bool((kind == SEVERAL).any())
    return NodeArrays(state, view.device_kinds if mixed else None)


def one_of_each(nodes: NodeArrays) -> tuple[Rows, Rows] | None:
    """Nodes that differ, and for every node which of them it equals; None where comparing does not pay. On a cluster
    bought in batches most empty nodes are equal, and equal nodes are evaluated once."""
    if len(nodes.state) < WORTH_COMPARING or nodes.kinds is not None:
        return None
    state = nodes.state.copy()
    NodeArrays(state, None).free.sort(axis=1)
    as_one = state.view(np.dtype((np.void, state.itemsize * state.shape[1]))).ravel()
    _, first, which = np.unique(as_one, return_index=True, return_inverse=True)
    return first, which


class KnownLosses:
    """A cache of each node's unusable capacity. `losses` float64[row]: valid once the rows that `stale` named were put
    in. An entry counts only while its node is exactly as it was, so trials, undo and restarts need no special care."""

    def __init__(self) -> None:
        self.losses: F8 = np.zeros(0)
        self._typical: Typical | None = None
        self._state: F8 = np.zeros((0, 0))

    def stale(self, typical: Typical, nodes: NodeArrays, rows: Rows, width: int) -> Rows:
        """Which of the nodes, whose rows of `width` are given, must be computed again."""
        columns = nodes.state.shape[1]
        if self._typical is not typical or self._state.shape != (width, columns):
            self._typical = typical
            self._state = np.full((width, columns), _NEVER)
            self.losses = np.zeros(width)
            return np.arange(len(rows))
        changed = (self._state[rows] != nodes.state).any(axis=1)
        if nodes.kinds is not None:
            changed |= nodes.mixed  # described otherwise, such a node may look the same here: nothing of it is kept
        return np.flatnonzero(changed)

    def put(self, rows: Rows, nodes: NodeArrays, losses: F8) -> None:
        self.losses[rows] = losses
        self._state[rows] = nodes.state


class Candidates(NamedTuple):
    """Nodes as they would be with one more task; for a share of a GPU, once for each device that it might get. All
    `[candidate]`, by ascending node. `slot` is the device of a share; None for whole ones and for none."""

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
    fit have no candidate; where CPU or memory is short (possible with measured usage), nothing is left. Whole devices
    are taken lowest first; which ones the task really gets (`cluster.devices.choose`) matters only where kinds
    differ."""
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
    """Devices of equal kind with as much left are equal: the first stands for all."""
    left = np.where(fits, nodes.free, -1.0)  # only those that fit can be alike
    same = left[:, :, None] == left[:, None, :]
    if nodes.kinds is not None:
        same &= nodes.kinds[:, :, None] == nodes.kinds[:, None, :]
    first = same.argmax(axis=2)  # the first that each is like: itself, or one before it
    return fits & (first == np.arange(left.shape[1]))  # type: ignore[no-any-return]
