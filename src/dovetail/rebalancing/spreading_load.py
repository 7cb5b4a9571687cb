"""The simple policy: when two nodes are far apart in load, move a task from the fuller to the emptier one.

    benefit   how much lower the fuller of the two nodes is afterwards, as a part of its capacity
    cost      a fixed price for each move, and a price for taking a task away from those it exchanges traffic with

A move is made only if its benefit exceeds its cost, tasks with few constraints first. A task that was moved stays for
`settle_s`, and nothing is moved between nodes that are less than `threshold` apart, so the policy comes to rest.
Guarantees: pure and deterministic. A service loses at most one ready replica at a time, and never its last one.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.model.task import TaskId

CANDIDATES_TRIED = 20  # of one node in one round


@dataclass(frozen=True, slots=True)
class MovableTask:
    """A running task that would start again elsewhere. `loads` float64[node]: what it adds to the load of each node.
    `constraints`: how many rules its placement has to meet. `away` float64[node]: the mean distance (0 to 1, weighted
    by traffic) to those that it exchanges traffic with, from each node; None if there are none. `siblings`: how many
    tasks of its service run."""

    task: TaskId
    name: str
    service: tuple[str, str]
    row: int
    loads: F8
    constraints: int
    away: F8 | None
    siblings: int


@dataclass(frozen=True, slots=True)
class BalanceView:
    """`load` float64[node]; `usable` bool[node]: nodes that take new tasks."""

    names: list[str]
    load: F8
    usable: B1
    tasks: list[MovableTask]

    @property
    def spread(self) -> float:
        """Between the fullest and the emptiest node."""
        loads = self.load[self.usable]
        return float(loads.max() - loads.min()) if len(loads) > 1 else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of the load of usable nodes."""
        return float(self.load[self.usable].std()) if self.usable.any() else 0.0


@dataclass(frozen=True, slots=True)
class BalancePolicy:
    """`move_cost`, `distance_cost`: in parts of a node's capacity, for one move and for moving a task from beside those
    it talks to as far away as possible."""

    threshold: float = 0.2
    move_cost: float = 0.02
    distance_cost: float = 0.3
    settle_s: float = 600.0
    moves: int = 2


@dataclass(frozen=True, slots=True)
class BalancingMove:
    """`why`: what is better afterwards; benefit and cost are in its unit."""

    task: TaskId
    name: str
    source: str
    target: str
    benefit: float
    cost: float
    why: str = "the fuller node is emptier"

    @property
    def reason(self) -> str:
        return f"rebalancing: {self.why}, benefit {self.benefit:.4g}, cost {self.cost:.4g}"


def propose(
    view: BalanceView,
    policy: BalancePolicy,
    targets: Callable[[TaskId], B1],
    resting: Collection[TaskId] = (),
    busy: Collection[tuple[str, str]] = (),
) -> list[BalancingMove]:
    """The moves of one round. `targets`: bool[node], the nodes that would take the task now. `resting`: tasks that were
    moved lately. `busy`: services that are not to be disturbed now."""
    load, busy_services = view.load.copy(), set(busy)
    found: list[BalancingMove] = []
    moved: set[TaskId] = set()
    while len(found) < policy.moves:
        best = _best(view, load, policy, targets, moved | set(resting), busy_services)
        if best is None:
            break
        move, task, target = best
        found.append(move)
        moved.add(task.task)
        busy_services.add(task.service)
        load[task.row] -= task.loads[task.row]
        load[target] += task.loads[target]
    return found


def _best(
    view: BalanceView,
    load: F8,
    policy: BalancePolicy,
    targets: Callable[[TaskId], B1],
    excluded: Collection[TaskId],
    busy: Collection[tuple[str, str]],
) -> tuple[BalancingMove, MovableTask, int] | None:
    """The first candidate of the fullest node, if a node is far enough below it, whose move pays."""
    if view.usable.sum() < 2:
        return None
    lowest = float(load[view.usable].min())
    for row in np.argsort(-load, kind="stable").tolist():
        if load[row] - lowest <= policy.threshold:
            return None
        tasks = [one for one in view.tasks if one.row == row and one.task not in excluded and one.siblings > 1]
        tasks = [one for one in tasks if one.service not in busy]
        tasks.sort(key=lambda one: (one.constraints, -one.loads[one.row], one.task))
        for task in tasks[:CANDIDATES_TRIED]:
            found = _target(view, load, policy, task, targets(task.task))
            if found is not None:
                return found
    return None


def _target(
    view: BalanceView, load: F8, policy: BalancePolicy, task: MovableTask, able: B1
) -> tuple[BalancingMove, MovableTask, int] | None:
    able = able & view.usable & (load[task.row] - load > policy.threshold)
    able[task.row] = False
    if not able.any():
        return None
    after = np.maximum(load + task.loads, load[task.row] - task.loads[task.row])
    benefit = load[task.row] - after
    farther = 0.0 if task.away is None else np.maximum(0.0, task.away - task.away[task.row])
    cost = policy.move_cost + policy.distance_cost * farther
    gain = np.where(able, benefit - cost, -np.inf)
    target = int(np.argmax(gain))
    if gain[target] <= 0:
        return None
    costs = np.broadcast_to(cost, load.shape)
    move = BalancingMove(
        task.task,
        task.name,
        view.names[task.row],
        view.names[target],
        round(float(benefit[target]), 4),
        round(float(costs[target]), 4),
    )
    return move, task, target


class BringNearer(NamedTuple):
    """A move that brings a task nearer to those it talks to. `saves`: in Mbps × distance; below 0 where it only makes
    way for another."""

    task: TaskId
    source: str
    target: str
    saves: float


def nearer(
    view: BalanceView,
    policy: BalancePolicy,
    wanted: Sequence[BringNearer],
    cost: float,
    resting: Collection[TaskId],
    busy: Collection[tuple[str, str]] = (),
) -> list[BalancingMove]:
    """Of these moves the first that pay by themselves and keep to the rules: one task of a service at a time, never the
    last one, and no node becomes more than `threshold` fuller than the emptiest."""
    tasks = {one.task: one for one in view.tasks}
    rows = {name: row for row, name in enumerate(view.names)}
    lowest = float(view.load[view.usable].min()) if view.usable.any() else 0.0
    found: list[BalancingMove] = []
    disturbed = set(busy)
    for move in wanted:
        task, row = tasks.get(move.task), rows.get(move.target, -1)
        if task is None or row < 0 or task.siblings < 2 or task.service in disturbed or move.task in resting:
            continue
        if move.saves <= cost or view.load[row] + task.loads[row] - lowest > policy.threshold:
            continue
        why = "nearer to those it talks to"
        found.append(BalancingMove(move.task, task.name, move.source, move.target, round(move.saves, 1), cost, why))
        disturbed.add(task.service)
        if len(found) == policy.moves:
            break
    return found
