"""A cache of each node's unusable capacity: every shape needs it, and few nodes change in between.

Guarantees: an entry counts only while its node is exactly as it was when the entry was made, so trials, undo and
restarts need no special care.
"""

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.placement.fragmentation.node_arrays import NodeArrays
from dovetail.placement.fragmentation.typical import Typical

_NEVER = -2.0  # no node is like that


class KnownLosses:
    """`losses` float64[row]: valid once the rows that `stale` named were put in."""

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
