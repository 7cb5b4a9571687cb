"""The victims on one node for a pod of a given priority, and how such answers compare.

The comparison is kube-scheduler's: violated disruption budgets, the highest priority of a victim, the sum of their
priorities, how many there are, and how long ago the most important of them started.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from dovetail.cluster.placements import Placement
from dovetail.cluster.selector_counts import selects
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request

#: Makes all priorities positive, so that more victims never weigh less than fewer.
ABOVE_ALL = 1 << 31


class Nomination(NamedTuple):
    """The row, its victims (the most important first), and how many of them violate a budget."""

    row: int
    victims: tuple[TaskId, ...]
    violations: int


class NominatedPlacements:
    """Nominated tasks by row, whose capacity is not available there. `repelling_rows`: rows with one that may repel
    others; `log`: rows in the order in which they changed, for caches by row."""

    def __init__(self) -> None:
        self._tasks: dict[int, dict[TaskId, Placement]] = {}
        self.repelling_rows: set[int] = set()
        self.log: list[int] = []

    @property
    def rows(self) -> Collection[int]:
        return self._tasks

    def on(self, row: int) -> Mapping[TaskId, Placement]:
        return self._tasks.get(row, _NO_TASKS)

    def add(self, row: int, task: TaskId, placement: Placement) -> None:
        self._tasks.setdefault(row, {})[task] = placement
        self._changed(row)

    def remove(self, row: int, task: TaskId) -> None:
        here = self._tasks[row]
        del here[task]
        if not here:
            del self._tasks[row]
        self._changed(row)

    def _changed(self, row: int) -> None:
        self.log.append(row)
        repels = any(one.identity is None or one.identity.repels for one in self.on(row).values())
        (self.repelling_rows.add if repels else self.repelling_rows.discard)(row)


_NO_TASKS: Mapping[TaskId, Placement] = {}


class RankedNomination(NamedTuple):
    """A nomination with what it is compared by; lower is better."""

    order: tuple[int, int, int, int, float, int]
    nomination: Nomination


class Preemptor(NamedTuple):
    """The pod that looks for a node; of `coming` it may not take the capacity."""

    request: Request
    priority: int
    budgets: "Budgets"
    coming: NominatedPlacements


class Budgets:
    """Which tasks violate a budget if all of a node were evicted."""

    def __init__(self, budgets: Sequence[DisruptionBudget]) -> None:
        self._budgets = budgets
        self._by_identity: dict[TaskIdentity, tuple[int, ...]] = {}

    @property
    def any(self) -> bool:
        return bool(self._budgets)

    def of(self, identity: TaskIdentity | None) -> tuple[int, ...]:
        """Which budgets a task counts against. One without labels of its own counts against none."""
        if identity is None or not self._budgets:
            return ()
        found = self._by_identity.get(identity)
        if found is None:
            labelled = any(":" not in key for key, _ in identity.labels)
            each = enumerate(self._budgets) if labelled else ()
            found = self._by_identity[identity] = tuple([i for i, one in each if selects(one.whom, identity)])
        return found

    def overrun(self, tasks: Sequence[tuple[TaskId, TaskIdentity | None]]) -> list[bool]:
        """For each of a node's tasks, the most important first, whether evicting it violates a budget."""
        left = [budget.allowed for budget in self._budgets]
        found = []
        for task, identity in tasks:
            over = False
            for i in self.of(identity):
                if task not in self._budgets[i].exempt:
                    left[i] -= 1
                    over = over or left[i] < 0
            found.append(over)
        return found


def order_of(
    row: int, violations: int, priorities: Sequence[int], since: Sequence[float]
) -> tuple[int, int, int, int, float, int]:
    """What kube-scheduler compares, in its order; ties go to the lower row."""
    highest = max(priorities)
    began = min(start for start, priority in zip(since, priorities, strict=True) if priority == highest)
    total = sum(priority + ABOVE_ALL for priority in priorities)
    return violations, highest, total, len(priorities), -began, row
