"""Columns of resources: what nodes have, what is taken, what is measured and foreseen."""

from collections.abc import Mapping, Sequence

from dovetail.cluster.arrays import F8
from dovetail.cluster.views.rows import RowsOfView


class ResourceColumns(RowsOfView):
    @property
    def resource_names(self) -> Sequence[str]:
        return self._tables.names

    @property
    def has_gpus(self) -> bool:
        """Has any node ever had a GPU?"""
        return self._tables.has_gpus

    def capacity(self, resource: str) -> F8 | None:
        """None where no node has ever had such a resource."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.capacity, index)

    def schedulable(self, resource: str) -> F8 | None:
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.schedulable, index)

    def reserved(self, resource: str) -> F8 | None:
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.reserved, index)

    def allocated(self, resource: str) -> F8 | None:
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.allocated, index)

    def all_have(self, resource: str, needed: float) -> bool:
        """Known without looking: every node has so much free. False means only that one has to look."""
        index = self._index.get(resource)
        return index is not None and needed <= self._tables.least_free.item(index)

    def free(self, resource: str) -> F8 | None:
        """Schedulable - allocated - reserved."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.free, index)

    def inverse_capacity(self, resource: str) -> F8 | None:
        """1 / capacity, and 0 where a node has none."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.inverse, index)

    def free_share(self, resource: str) -> F8 | None:
        """free / capacity, and 0 where a node has none."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.free_share, index)

    def needed_share(self, amounts: Mapping[str, float], names: Sequence[str]) -> F8:
        """The sum over these resources of amount / capacity. Computed once for all nodes of equal capacity."""
        classes, index = self._tables.classes, self._index
        of_class = classes.needed_share([(index[name], amounts[name]) for name in names if name in index])
        return of_class.take(self._cut(classes.of_node), mode="clip")

    def free_observed(self, resource: str) -> F8 | None:
        """Schedulable - reserved - measured use - what was allocated since the measurement."""
        tables = self._cluster.resources
        index = tables.index.get(resource)
        if index is None:
            return None
        used: F8 = self._cut(tables.observed[index]) + self._cut(tables.unseen[index])
        spare: F8 = self._cut(tables.schedulable[index]) - self._cut(tables.reserved[index])
        return spare - used

    def observed(self, resource: str) -> F8 | None:
        """Measured use."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.observed, index)

    def forecast(self, resource: str) -> F8 | None:
        """Measured use about fifteen minutes from now, if it goes on as it did."""
        index = self._index.get(resource)
        if index is None:
            return None
        tables = self._tables
        return self._cut(self._cluster.usage_trend.forecast(index, tables.observed[index], tables.capacity[index]))

    @property
    def load(self) -> F8:
        """Mean share of CPU, memory and task slots in use."""
        return self._cut(self._cluster.resources.load)

    @property
    def idle(self) -> F8:
        """1 - load."""
        return self._cut(self._cluster.resources.idle)
