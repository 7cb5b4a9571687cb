"""Promises to waiting work, by row, as arrays: what they hold there and for which workload.

Thousands of preemptors may wait for their victims at once, and every decision meanwhile needs to know what they leave
free. So no operation here loops over all promises.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8, Rows, grown, runs
from dovetail.placement.contract import PromisedCapacity

_FEW = 16


class PromisedRows:
    """One entry for each row of each promise, in no order. `_made` tells which promise is older."""

    def __init__(self) -> None:
        self._count = 0
        self._rows: Rows = np.zeros(_FEW, dtype=np.intp)
        self._made: npt.NDArray[np.int64] = np.zeros(_FEW, dtype=np.int64)
        self._columns: F8 = np.zeros((0, _FEW))
        self._names: npt.NDArray[Any] = np.empty(_FEW, dtype=np.object_)
        self._owners: npt.NDArray[np.int64] = np.zeros(_FEW, dtype=np.int64)
        self._places: dict[int, list[int]] = {}  # by owner
        self._last = 0
        self._on_row: dict[int, dict[int, None]] = {}

    def owners(self, row: int) -> Collection[int]:
        """Workloads that were promised capacity on the row."""
        return self._on_row.get(row, {})

    def add(self, owner: int, name: str, rows: tuple[tuple[int, F8], ...]) -> None:
        self._last += 1
        for row, column in rows:
            place = self._next_place(len(column))
            self._rows[place], self._made[place] = row, self._last
            self._owners[place], self._names[place] = owner, name
            self._columns[:, place] = 0.0
            self._columns[: len(column), place] = column
            self._places.setdefault(owner, []).append(place)
            self._on_row.setdefault(row, {})[owner] = None

    def remove(self, owner: int) -> None:
        for place in sorted(self._places.pop(owner, ()), reverse=True):
            row = int(self._rows[place])
            there = self._on_row.get(row, {})
            there.pop(owner, None)
            if not there:
                self._on_row.pop(row, None)
            self._close_gap(place)

    def left(self, free: F8, but: Collection[int]) -> PromisedCapacity | None:
        """What promises leave free now, those to the owners in `but` ignored. None if there are no others."""
        rows = self._rows[: self._count]
        order = np.lexsort((self._made[: self._count], rows))
        for owner in but:
            if owner in self._places:
                order = order[self._owners[order] != owner]
        if not len(order):
            return None
        rows = rows[order]
        first, _ = runs(rows)
        kept = self._columns[:, order]
        if len(first) < len(order):
            kept = np.add.reduceat(kept, first, axis=1)
        room: F8 = free[:, rows[first]]
        room[: len(kept)] -= kept
        return PromisedCapacity(rows[first], room, self._names[order[first]])

    def _next_place(self, resources: int) -> int:
        place = self._count
        self._count += 1
        if place == len(self._rows):
            size = 2 * place
            self._rows, self._made = grown(self._rows, size), grown(self._made, size)
            self._owners, self._columns = grown(self._owners, size), grown(self._columns, size)
            self._names = np.concatenate((self._names, np.empty(place, dtype=np.object_)))
        if resources > len(self._columns):
            more = np.zeros((resources - len(self._columns), self._columns.shape[1]))
            self._columns = np.concatenate((self._columns, more))
        return place

    def _close_gap(self, place: int) -> None:
        """Move the last entry into the gap."""
        self._count -= 1
        last = self._count
        self._names[place], self._names[last] = self._names[last], None
        if place == last:
            return
        self._rows[place], self._made[place] = self._rows[last], self._made[last]
        self._columns[:, place] = self._columns[:, last]
        self._owners[place] = self._owners[last]
        places = self._places[int(self._owners[last])]
        places[places.index(last)] = place
