"""The volumes that each node has attached for its tasks. A node can attach a limited number for each driver.

A volume that several tasks of a node use is attached once. Only tasks with such volumes cost anything.
Guarantees: counts follow from the placed tasks, trials included. Left to others: the limit of each node.
"""

import numpy as np

from dovetail.cluster.arrays import F8

Volumes = tuple[tuple[str, str], ...]  # (driver, volume)


class AttachedVolumes:
    """Written by `PlacementTable` only."""

    def __init__(self) -> None:
        self._users: dict[tuple[str, str], dict[int, int]] = {}  # tasks by row
        self._attached: dict[str, dict[int, int]] = {}  # by driver: volumes by row

    def __eq__(self, other: object) -> bool:
        """For checking."""
        return isinstance(other, AttachedVolumes) and self._users == other._users and self._drivers == other._drivers

    __hash__ = None  # type: ignore[assignment]

    @property
    def _drivers(self) -> dict[str, dict[int, int]]:
        return {driver: rows for driver, rows in self._attached.items() if rows}

    def count(self, volumes: Volumes, row: int, sign: int) -> None:
        """One more (or less) task on the row that uses these."""
        for volume in volumes:
            users = self._users.setdefault(volume, {})
            before = users.get(row, 0)
            users[row] = before + sign
            attached = self._attached.setdefault(volume[0], {})
            attached[row] = attached.get(row, 0) + (before + sign > 0) - (before > 0)
            if not users[row]:
                del users[row]
                if not users:
                    del self._users[volume]
            if not attached[row]:
                del attached[row]

    def counts(self, driver: str, width: int) -> F8:
        """float64[node]: volumes of a driver that each node has attached."""
        return _array(self._attached.get(driver, {}), width)

    def has(self, driver: str, volume: str, width: int) -> F8:
        """float64[node]: 1 where a volume is attached."""
        return np.minimum(_array(self._users.get((driver, volume), {}), width), 1.0)


def _array(by_row: dict[int, int], width: int) -> F8:
    found = np.zeros(width)
    if by_row:
        found[list(by_row)] = list(by_row.values())
    return found
