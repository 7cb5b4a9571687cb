"""The resource table: `float64[resource, node]`, whole numbers of the smallest unit, so sums are exact.

    capacity     what the node has
    schedulable  capacity times the overcommit ratio of the resource, rounded down
    allocated    what placed tasks asked for
    reserved     held back for later
    observed     measured use, and `unseen`: allocated since that measurement
    free         schedulable - allocated - reserved, kept up to date on every change
    inverse      1 / capacity, 0 where there is none
    free_share   free * inverse
    load         float64[node]: mean share of CPU, memory and task slots in use; `idle` is 1 - load
    least_free   float64[resource]: no node has less of it free; some may all have more

The node load is the seeds' base load; it is derived here, once, so that no score computes it per decision.
"""

from collections.abc import Mapping

import numpy as np

from dovetail.cluster.arrays import B1, F8, FIRST_CAPACITY, grown
from dovetail.cluster.capacity_classes import CapacityClasses
from dovetail.model.resources import CORE_RESOURCES, CPU, GPU, MEMORY, SLOTS, Amounts

_TABLES = ("capacity", "schedulable", "allocated", "reserved", "observed", "unseen", "free", "inverse", "free_share")


class ResourceTable:
    """Written by `Cluster` only."""

    def __init__(self, overcommit: Mapping[str, float] | None = None) -> None:
        self.overcommit = dict(overcommit or {})
        self.names: list[str] = list(CORE_RESOURCES)
        self.index: dict[str, int] = {name: i for i, name in enumerate(self.names)}
        shape = (len(self.names), FIRST_CAPACITY)
        self.capacity: F8 = np.zeros(shape)
        self.schedulable: F8 = np.zeros(shape)
        self.allocated: F8 = np.zeros(shape)
        self.reserved: F8 = np.zeros(shape)
        self.observed: F8 = np.zeros(shape)
        self.unseen: F8 = np.zeros(shape)
        self.free: F8 = np.zeros(shape)
        self.inverse: F8 = np.zeros(shape)
        self.free_share: F8 = np.zeros(shape)
        self.load: F8 = np.zeros(FIRST_CAPACITY)
        self.idle: F8 = np.ones(FIRST_CAPACITY)
        # Nearly always every node has a free slot, and often enough disk: then no node has to be looked at for it.
        self.least_free: F8 = np.full(len(self.names), np.inf)
        self.classes = CapacityClasses(len(self.names))
        self.has_gpus = False  # has any node ever had one?

    def widen(self, width: int) -> None:
        for name in _TABLES:
            setattr(self, name, grown(getattr(self, name), width))
        self.load = grown(self.load, width)
        self.idle = grown(self.idle, width, 1.0)
        self.classes.widen(width)

    def row_of(self, resource: str) -> int:
        """The table row of a resource, new if it was never seen."""
        found = self.index.get(resource)
        if found is None:
            found = self.index[resource] = len(self.names)
            self.names.append(resource)
            for name in _TABLES:
                table = getattr(self, name)
                setattr(self, name, np.vstack([table, np.zeros((1, table.shape[1]))]))
            self.least_free = np.append(self.least_free, 0.0)
            self.classes.add_resource()
        return found

    def vector(self, amounts: Mapping[str, float]) -> F8:
        """float64[resource]; resources no node has ever had get a row of their own."""
        index = self.index
        for name in amounts:
            if name not in index:
                self.row_of(name)
        column = [0.0] * len(self.names)
        for name, amount in amounts.items():
            column[index[name]] = amount
        return np.array(column)

    def forget_after(self, count: int) -> None:
        """Drop all resources but the first so many. No node has any of those, and no task asks for them."""
        for name in self.names[count:]:
            del self.index[name]
        del self.names[count:]
        for name in _TABLES:
            setattr(self, name, getattr(self, name)[:count])
        self.least_free = self.least_free[:count]
        self.classes.forget_after(count)

    def amounts(self, column: F8) -> Amounts:
        """`column` may be shorter than the table, as in `take`."""
        return {name: int(amount) for name, amount in zip(self.names, column.tolist(), strict=False) if amount}

    def set_capacity(self, node: int, amounts: Mapping[str, float]) -> None:
        column = self.vector(amounts)
        ratios = np.array([self.overcommit.get(name, 1.0) for name in self.names])
        self.capacity[:, node] = column
        self.has_gpus = self.has_gpus or bool(column.item(_GPU))
        self.schedulable[:, node] = np.floor(column * ratios)
        with np.errstate(divide="ignore"):
            self.inverse[:, node] = np.where(column > 0, 1.0 / column, 0.0)
        self.classes.assign(node, self.inverse[:, node])
        self.refresh(node)

    def clear(self, node: int) -> None:
        for name in _TABLES:
            getattr(self, name)[:, node] = 0.0
        self.load[node], self.idle[node] = 0.0, 1.0
        self.classes.leave(node)

    def take(self, node: int, column: F8) -> None:
        """Allocate; `column` may be shorter than the table if resources were added since it was made."""
        n = len(column)
        allocated, unseen, free = self.allocated[:n, node], self.unseen[:n, node], self.free[:n, node]
        allocated += column
        unseen += column
        free -= column
        self._refresh_free(node, n)
        self._refresh_load(node)

    def take_many(self, column: F8, nodes: list[int]) -> None:
        """As `take` once for each entry; amounts are whole numbers, so the sums are the same to the bit."""
        n = len(column)
        amounts = column[:, None] * np.bincount(nodes, minlength=self.load.shape[0])
        self.allocated[:n] += amounts
        self.unseen[:n] += amounts
        self.free[:n] -= amounts
        self.free_share[:n] = self.free[:n] * self.inverse[:n]
        self.least_free[:n] = np.minimum(self.least_free[:n], self.free[:n, nodes].min(axis=1))
        self.load = loads(self.allocated, self.inverse)
        self.idle = 1.0 - self.load

    def give(self, node: int, column: F8) -> None:
        n = len(column)
        self.allocated[:n, node] -= column
        # What ran before the last measurement is part of `observed`; only the rest of it was unseen.
        self.unseen[:n, node] = np.maximum(self.unseen[:n, node] - column, 0.0)
        self.free[:n, node] += column
        self._refresh_free(node, n)
        self._refresh_load(node)

    def hold(self, node: int, column: F8, sign: int) -> None:
        n = len(column)
        self.reserved[:n, node] += sign * column
        self.free[:n, node] -= sign * column
        self._refresh_free(node, n)

    def observe(self, node: int, used: Mapping[str, float]) -> None:
        self.observed[:, node] = self.vector(used)
        self.unseen[:, node] = 0.0

    def refresh(self, node: int) -> None:
        self.free[:, node] = self.schedulable[:, node] - self.allocated[:, node] - self.reserved[:, node]
        self._refresh_free(node, len(self.free))
        self._refresh_load(node)

    def look_at_all(self, present: B1) -> None:
        """`least_free` only falls as tasks come. Call this now and then: tasks have left, too."""
        if present.any():
            self.least_free = self.free[:, : len(present)][:, present].min(axis=1)

    def _refresh_free(self, node: int, n: int) -> None:
        """The first so many resources of a node changed."""
        free, least = self.free[:n, node], self.least_free[:n]
        np.multiply(free, self.inverse[:n, node], out=self.free_share[:n, node])
        np.minimum(least, free, out=least)

    def _refresh_load(self, node: int) -> None:
        used: list[float] = self.allocated[:, node].tolist()
        inverse: list[float] = self.inverse[:, node].tolist()
        load = (used[_CPU] * inverse[_CPU] + used[_MEMORY] * inverse[_MEMORY] + used[_SLOTS] * inverse[_SLOTS]) / 3.0
        self.load[node], self.idle[node] = load, 1.0 - load


_CPU, _MEMORY, _SLOTS, _GPU = (CORE_RESOURCES.index(name) for name in (CPU, MEMORY, SLOTS, GPU))


def loads(allocated: F8, inverse: F8) -> F8:
    """Load of many nodes at once, to the bit the same as the table's own."""
    return (  # type: ignore[no-any-return]
        allocated[_CPU] * inverse[_CPU] + allocated[_MEMORY] * inverse[_MEMORY] + allocated[_SLOTS] * inverse[_SLOTS]
    ) / 3.0
