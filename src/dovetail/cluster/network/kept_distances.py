"""Distances from nodes to all others, computed once and kept until nodes, the topology or measurements change.

Only where distances are measured: those that follow from levels or links are computed for many nodes at once. A small
cluster keeps a matrix, so that the nearest of many rows is one array operation; a large one keeps some rows.
"""

from collections.abc import Callable

import numpy as np

from dovetail.cluster.arrays import F8, Rows

#: 64 MiB: a matrix of 2,896 nodes, or as many rows of a larger cluster as fit.
_MOST_KEPT = 2**23


class KeptDistances:
    """`made_of`: what they follow from. `compute`: the distances of all nodes from one row, float64[node]."""

    def __init__(self, made_of: object, width: int, compute: Callable[[int], F8]) -> None:
        self.made_of = made_of
        self._width, self._compute = width, compute
        self._matrix: F8 | None = np.empty((width, width)) if width * width <= _MOST_KEPT else None
        self._filled = np.zeros(width, dtype=np.bool_)
        self._rows: dict[int, F8] = {}

    def of(self, row: int) -> F8:
        """Not to be written."""
        if self._matrix is not None:
            self._fill(np.array([row]))
            found: F8 = self._matrix[row]
            return found
        if row not in self._rows:
            if len(self._rows) * self._width > _MOST_KEPT:
                self._rows.clear()
            self._rows[row] = self._compute(row)
        return self._rows[row]

    def nearest(self, rows: Rows) -> F8:
        """float64[node]: from the nearest of the rows, of which there is at least one."""
        rows = np.unique(rows)
        if self._matrix is not None:
            self._fill(rows)
            found: F8 = self._matrix[rows].min(axis=0)
            return found
        found = self.of(int(rows[0])).copy()
        for row in rows[1:].tolist():
            np.minimum(found, self.of(row), out=found)
        return found

    def _fill(self, rows: Rows) -> None:
        assert self._matrix is not None
        for row in rows[~self._filled[rows]].tolist():
            self._matrix[row] = self._compute(row)
            self._filled[row] = True
