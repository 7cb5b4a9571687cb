"""Rows of the cluster that a view shows, and how columns are cut down to them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.state import Cluster


class RowsOfView:
    """All rows, in order. A view of some rows overrides this class only."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tables = cluster.resources
        self._index = cluster.resources.index
        self.size = cluster.width

    def _cut(self, array: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]
        return array[: self.size]

    def _row(self, table: npt.NDArray[np.float64], index: int) -> F8:
        return table[index, : self.size]

    @property
    def _which(self) -> Rows | slice:
        return slice(0, self.size)

    def name(self, position: int) -> str:
        return self._cluster.names[position]

    @property
    def rows(self) -> Rows:
        return np.arange(self.size)

    @property
    def width(self) -> int:
        """Rows of the whole cluster, whatever this view shows."""
        return self._cluster.width

    @property
    def node_names(self) -> Sequence[str]:
        """Of the whole cluster, by row."""
        return self._cluster.names

    def row_of(self, name: str) -> int | None:
        """The row of a node in the whole cluster."""
        return self._cluster.rows.get(name)
