"""The victims on one node for a pod of a given priority, and how such answers compare.

The comparison is kube-scheduler's: violated disruption budgets, the highest priority of a victim, the sum of their
priorities, how many there are, and how long ago the most important of them started.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from dovetail.cluster.placements import Placement, PlacementTable
from dovetail.cluster.selector_counts import selects
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.preemption.victim_gangs import VictimGangs

#: Makes all priorities positive, so that more victims never weigh less than fewer.
ABOVE_ALL = 1 << 31


class Nomination(NamedTuple):
    """The row, the victims (the most important first), and how many of them violate a budget. All are on the row, but
    for those that go because their gang cannot go on."""

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
    """The pod that looks for a node; of `coming` it may not take the capacity. `gangs`: None if there are none."""

    request: Request
    priority: int
    budgets: "Budgets"
    coming: NominatedPlacements
    gangs: VictimGangs | None = None


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


def with_whole_gangs(
    pod: Preemptor, placements: PlacementTable, on_row: Callable[[Sequence[int]], RankedNomination | None]
) -> RankedNomination | None:
    """The nomination of one row, with everyone of the gangs that cannot go on without its victims. `on_row`: the
    nomination if these gangs go anyway; what they leave there may save others."""
    gangs, broken = pod.gangs, list[int]()
    found = on_row(broken)
    if gangs is None or found is None:
        return found
    while True:
        victims = [(task, placements.by_task[task]) for task in reversed(found.nomination.victims)]
        unit = gangs.first_broken(victims, broken)
        if unit < 0:
            break
        broken.append(unit)
        again = on_row(broken)
        assert again is not None, "the pod does not fit with even fewer tasks on its node"
        found = again
    if not broken:
        return found
    tasks = {*found.nomination.victims, *[task for unit in broken for task in gangs.members(unit)]}
    return _ranked(found.nomination.row, pod, {task: placements.by_task[task] for task in tasks})


def _ranked(row: int, pod: Preemptor, victims: Mapping[TaskId, Placement]) -> RankedNomination:
    infos = {task: placement.victim_info for task, placement in victims.items()}
    tasks = sorted(victims, key=lambda task: (-infos[task].priority, infos[task].since, task))
    violations = sum(pod.budgets.overrun([(task, victims[task].identity) for task in tasks]))
    measured = [infos[task].priority for task in tasks], [infos[task].since for task in tasks]
    return RankedNomination(order_of(row, violations, *measured), Nomination(row, tuple(tasks), violations))
