"""Pods that are nominated to a node where victims are being stopped for them, by row.

The table is kept from one search for victims to the next and updated where promises changed.
"""

from collections import Counter

from dovetail.cluster.placements import Placement
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import NominatedPlacements

#: After so many changes the log is dropped, and whoever caches answers by row starts again.
_CHANGES = 100_000


class NominatedTasks:
    def __init__(self) -> None:
        self._coming = NominatedPlacements()
        self._of: dict[int, tuple[int, list[Placement]]] = {}  # by workload: its priority and where it goes
        self._urgencies: Counter[int] = Counter()
        self._stirred: dict[int, None] = {}

    def stir(self, owner: int) -> None:
        """Its promise has changed."""
        self._stirred[owner] = None

    def take_dirty(self) -> list[int]:
        found, self._stirred = list(self._stirred), {}
        return found

    def forget(self, owner: int) -> None:
        found = self._of.pop(owner, None)
        if found is None:
            return
        priority, placements = found
        self._urgencies[priority] -= 1
        if not self._urgencies[priority]:
            del self._urgencies[priority]
        for placement in placements:
            self._coming.remove(placement.row, TaskId(owner, 0))

    def expect(self, owner: int, priority: int, placements: list[Placement]) -> None:
        self._of[owner] = priority, placements
        self._urgencies[priority] += 1
        for placement in placements:
            self._coming.add(placement.row, TaskId(owner, 0), placement)
        if len(self._coming.log) > _CHANGES:
            self._coming = self._chosen(min(self._urgencies), but_for=-1)

    def no_less_urgent(self, priority: int, but_for: int) -> NominatedPlacements:
        """Nominated pods whose capacity a pod of this priority cannot have."""
        if but_for in self._of or (self._urgencies and min(self._urgencies) < priority):
            return self._chosen(priority, but_for)
        return self._coming

    def _chosen(self, priority: int, but_for: int) -> NominatedPlacements:
        found = NominatedPlacements()
        for owner, (urgency, placements) in self._of.items():
            if urgency >= priority and owner != but_for:
                for placement in placements:
                    found.add(placement.row, TaskId(owner, 0), placement)
        return found
