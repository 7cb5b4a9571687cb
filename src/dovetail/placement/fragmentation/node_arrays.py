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
from dovetail.model.resources import CPU, MEMORY

_FIRST_SLOT = 3


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
