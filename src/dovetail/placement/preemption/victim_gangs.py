"""Gangs among the victims of one pod: a gang that would fall below its minimum is preempted whole, on all its nodes.

Guarantees: pure. A gang with a task that may not be a victim keeps all its tasks, and so does the pod's own gang.
Leaves to others: finding the victims on one node (`reprieve`, `reprieve_trials`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cached_property

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.placements import Placement
from dovetail.model.task import TaskId
from dovetail.placement.preemption.victim_table import I8, VictimTable

#: By one of its tasks: how many tasks a gang needs on nodes to go on.
GangNeed = Callable[[TaskId], int]


class VictimGangs:
    """The gangs as of the last `refresh` of the victim table, seen by a pod of this priority."""

    def __init__(
        self,
        victim_table: VictimTable,
        priority: int,
        need: GangNeed,
        own: int = -1,
        stopping: Collection[TaskId] = (),
    ) -> None:
        """`own`: the gang of the pod itself; `stopping`: tasks that are being stopped already."""
        self._table, self._priority, self._need, self._own = victim_table, priority, need, own
        self._stopping = stopping
        self._members: dict[int, list[TaskId]] = {}

    @property
    def any(self) -> bool:
        return bool(len(self._table.ganged))

    @cached_property
    def spared(self) -> I8:
        """Slots of less urgent tasks that may not be victims, because of other tasks of their gang."""
        arrays, ganged, units = self._table.arrays, self._table.ganged, self._table.ganged_units
        may_go = arrays.preemptible[ganged] & (arrays.priority[ganged] < self._priority)
        stays = ~may_go | (arrays.unit[ganged] == self._own)
        whole: B1 = np.isin(units, units[stays])
        found: I8 = ganged[whole & may_go]
        return found

    @cached_property
    def _spared_tasks(self) -> set[TaskId]:
        return {self._table.task(slot) for slot in self.spared.tolist()}

    def spares(self, task: TaskId) -> bool:
        return task in self._spared_tasks

    def first_broken(self, victims: Iterable[tuple[TaskId, Placement]], but: Collection[int]) -> int:
        """The first gang, except these, that cannot go on without these tasks; -1: every gang can."""
        taken: Counter[int] = Counter()
        for task, placement in victims:
            unit = placement.victim_info.unit
            if unit < 0 or unit in but:
                continue
            taken[unit] += task not in self._stopping
            running = [one for one in self.members(unit) if one not in self._stopping]
            if len(running) - taken[unit] < self._need(task):
                return unit
        return -1

    def members(self, unit: int) -> list[TaskId]:
        """All tasks of a gang that hold a node."""
        found = self._members.get(unit)
        if found is None:
            ganged = self._table.ganged
            slots = ganged[self._table.arrays.unit[ganged] == unit]
            found = self._members[unit] = [self._table.task(slot) for slot in slots.tolist()]
        return found
