"""Who is to come to which row, since others are being stopped there for it: kept from one search for victims to the
next, and mended where promises changed."""

from collections import Counter

from dovetail.cluster.placements import Placement
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import NominatedPlacements

#: After so many changes what was kept of the rows is worked out anew by everybody.
_CHANGES = 100_000


class NominatedTasks:
    def __init__(self) -> None:
        self._coming = NominatedPlacements()
        self._of: dict[int, tuple[int, list[Placement]]] = {}  # by workload: how urgent it is, and where it goes
        self._urgencies: Counter[int] = Counter()
        self._stirred: dict[int, None] = {}

    def stir(self, owner: int) -> None:
        """What it was promised has changed."""
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
        """Those whose room is not to be had by one of this priority."""
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
