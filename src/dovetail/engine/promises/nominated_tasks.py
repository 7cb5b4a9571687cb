"""Nominated tasks: which preemptor waits for which row while its victims stop there (Kubernetes: nominated node).

The table is kept from one preemption search to the next, and updated only for workloads whose promise changed.
"""

from collections import Counter

from dovetail.cluster.placements import Placement
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import NominatedPlacements

#: After this many changes the log starts anew, and all who follow it recompute their rows.
_MAX_LOG = 100_000


class NominatedTasks:
    def __init__(self) -> None:
        self._placements = NominatedPlacements()
        self._by_owner: dict[int, tuple[int, list[Placement]]] = {}  # by workload: its priority and its placements
        self._priorities: Counter[int] = Counter()
        self._dirty: dict[int, None] = {}

    def mark_dirty(self, owner: int) -> None:
        """The promise to this workload changed."""
        self._dirty[owner] = None

    def take_dirty(self) -> list[int]:
        found, self._dirty = list(self._dirty), {}
        return found

    def remove(self, owner: int) -> None:
        found = self._by_owner.pop(owner, None)
        if found is None:
            return
        priority, placements = found
        self._priorities[priority] -= 1
        if not self._priorities[priority]:
            del self._priorities[priority]
        for placement in placements:
            self._placements.remove(placement.row, TaskId(owner, 0))

    def add(self, owner: int, priority: int, placements: list[Placement]) -> None:
        self._by_owner[owner] = priority, placements
        self._priorities[priority] += 1
        for placement in placements:
            self._placements.add(placement.row, TaskId(owner, 0), placement)
        if len(self._placements.log) > _MAX_LOG:
            self._placements = self._select(min(self._priorities), except_owner=-1)

    def at_or_above(self, priority: int, except_owner: int) -> NominatedPlacements:
        """Placements that a preemptor of this priority must not use."""
        if except_owner in self._by_owner or (self._priorities and min(self._priorities) < priority):
            return self._select(priority, except_owner)
        return self._placements

    def _select(self, priority: int, except_owner: int) -> NominatedPlacements:
        found = NominatedPlacements()
        for owner, (other_priority, placements) in self._by_owner.items():
            if other_priority >= priority and owner != except_owner:
                for placement in placements:
                    found.add(placement.row, TaskId(owner, 0), placement)
        return found
