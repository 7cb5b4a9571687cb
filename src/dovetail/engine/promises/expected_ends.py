"""When running tasks are expected to end, earliest first. Backfilling and start predictions rely on it.

Only tasks with a known run time (declared, or estimated from their owner's history) have an expected end. All others
count as running for ever. Iterating yields the capacity that tasks will release, earliest first.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import Release
from dovetail.cluster.placements import PlacementTable
from dovetail.model.task import TaskId


class ExpectedEnds:
    def __init__(self, placements: PlacementTable) -> None:
        self._placements = placements
        self._order: list[tuple[float, TaskId]] = []
        self._at: dict[TaskId, float] = {}

    def set(self, task: TaskId, at: float) -> None:
        self.drop(task)
        self._at[task] = at
        insort(self._order, (at, task))

    def drop(self, task: TaskId) -> None:
        at = self._at.pop(task, None)
        if at is not None:
            del self._order[bisect_left(self._order, (at, task))]

    def tasks(self) -> Iterable[TaskId]:
        return self._at

    def at(self, task: TaskId) -> float | None:
        return self._at.get(task)

    @property
    def first(self) -> float:
        """The earliest expected end."""
        return self._order[0][0]

    def extend(self, now: float, longer: Callable[[TaskId, float], float]) -> None:
        """Give overdue tasks a new end. `longer(task, old_end)` must return a time after now."""
        while self._order and self._order[0][0] <= now:
            at, task = self._order[0]
            self.set(task, longer(task, at))

    def on_row(self, row: int) -> Iterable[tuple[float, F8]]:
        by_task = self._placements.by_task
        return [(at, by_task[task].column) for task in self._placements.by_row[row] if (at := self._at.get(task))]

    def __iter__(self) -> Iterator[Release]:
        by_task = self._placements.by_task
        for at, task in self._order:
            placement = by_task[task]
            yield Release(at, placement.row, placement.column)

    def __len__(self) -> int:
        return len(self._order)
