"""When running tasks are expected to end, in order: what backfilling and predictions count on.

Only tasks whose run time is known (declared, or told from the history of their owner) have an end; work without one
is taken to run for ever. Iterating gives the room that comes back, soonest first.
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
        """When the next one should end."""
        return self._order[0][0]

    def extend(self, now: float, longer: Callable[[TaskId, float], float]) -> None:
        """Those that should have ended and have not get a new end, which must lie after now."""
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
