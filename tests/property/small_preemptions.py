"""Small random preemption cases, and what the exact optimum of each costs, by CP-SAT."""

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.placements import Placement, VictimInfo
from dovetail.cluster.state import Cluster
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId
from dovetail.placement.preemption.cost import Cost
from dovetail.placement.preemption.search import find_victims
from dovetail.placement.preemption.victim_ledger import Victims
from dovetail.placement.preemption.victim_table import VictimArrays, VictimTable

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

NOW = 10_000.0


@dataclass
class Case:
    cluster: Cluster
    candidates: B1
    column: F8
    count: int
    rank: int  # of the preemptor
    budgets: dict[int, int]
    slack: dict[int, int]
    exclude: set[TaskId] = field(default_factory=set)

    def eligible(self, victim_table: VictimArrays) -> B1:
        return victim_table.rank > self.rank

    def may_go(self, placement: Placement) -> bool:
        return placement.victim_info.preemptible and placement.victim_info.rank > self.rank

    def solve(self, victim_table: VictimTable | None = None) -> Victims | None:
        return find_victims(
            self.cluster,
            self.candidates,
            self.column,
            self.count,
            self.eligible,
            NOW,
            self.budgets,
            self.slack,
            self.exclude,
            victim_table,
        )

    def running(self) -> dict[TaskId, Placement]:
        by_task = self.cluster.placements.by_task
        return {task: by_task[task] for task in sorted(by_task) if task not in self.exclude}


def random_case(seed: int, count: int | None = None) -> Case:
    chance = random.Random(seed)
    cluster = Cluster()
    for i in range(chance.randint(2, 6)):
        capacity = Capacity(cpu=chance.choice((8, 12, 16)), memory=64, gpu=chance.choice((4, 4, 8)), slots=6)
        cluster.join(Node(name=f"n{i}", capacity=capacity))
    gangs = {100 + i: chance.randint(1, 4) for i in range(chance.randint(0, 4))}
    victim_table = [_stake(chance, i) for i in range(12)] + [_stake(chance, gang, unit=gang) for gang in gangs]
    for row in range(cluster.width):
        for _ in range(chance.randint(3, 6)):
            victim_info = chance.choice(victim_table)
            wanted = {"cpu": chance.randint(1, 5) * 1000, "memory": chance.randint(1, 24), "slots": 1}
            if chance.random() < 0.5:
                wanted["gpu"] = chance.randint(1, 3) * 1000
            column = cluster.resources.vector({name: float(amount) for name, amount in wanted.items()})
            if (cluster.resources.free[:, row] >= column).all():
                moment = victim_info._replace(since=NOW - chance.randint(0, 400))
                cluster.place(TaskId(victim_info.group, len(cluster.placements.by_task)), row, column, None, moment)
    large = 9 if count == 1 else 6
    need = {"cpu": chance.randint(3, large) * 1000.0, "memory": float(chance.randint(1, 40)), "slots": 1.0}
    if chance.random() < 0.4:
        need["gpu"] = chance.randint(1, 3) * 1000.0
    groups = [victim_info.group for victim_info in victim_table]
    return Case(
        cluster,
        np.array([chance.random() < 0.9 for _ in range(cluster.width)]),
        cluster.resources.vector(need),
        count or chance.randint(2, 6),
        chance.choice((0, 1, 1, 2)),
        {group: chance.randint(0, 2) for group in groups if chance.random() < 0.5},
        {gang: chance.randint(0, 2) for gang in gangs if chance.random() < 0.5},
        {task for task in cluster.placements.by_task if chance.random() < 0.05},
    )


def _stake(chance: random.Random, group: int, unit: int = -1) -> VictimInfo:
    return VictimInfo(
        rank=chance.choice((1, 2, 3, 4, 4)),
        checkpoint_s=chance.choice((0, 0, 60, 100)),
        min_run_s=chance.choice((0, 0, 120)),
        unit=unit,
        group=group,
        preemptible=chance.random() < 0.95,
    )


def optimum(case: Case) -> Cost | None:
    """The least cost there is; None if there is no way."""
    from ortools.sat.python import cp_model  # imports pandas, which takes a second

    model = cp_model.CpModel()
    tasks = case.running()
    goes = {task: model.new_bool_var(str(task)) for task in tasks}
    for task, placement in tasks.items():
        if not case.may_go(placement):
            model.add(goes[task] == 0)
    _all_fit(case, model, goes)
    broken = _gangs(case, model, goes)
    over = []
    for group, left in case.budgets.items():
        over.append(model.new_int_var(0, 100, f"over {group}"))
        model.add(over[-1] >= sum(goes[task] for task, p in tasks.items() if p.victim_info.group == group) - left)
    urgency = model.new_int_var(0, 5, "urgency")
    for task, placement in tasks.items():
        model.add(urgency >= (5 - placement.victim_info.rank) * goes[task])
    soon = sum(goes[task] for task, p in tasks.items() if NOW - p.victim_info.since < p.victim_info.min_run_s)
    lost = sum(lost_s(p.victim_info) * goes[task] for task, p in tasks.items())
    parts = [urgency, sum(over), sum(broken), soon, lost, sum(goes.values())]
    goal: Any = 0
    for part, radix in zip(parts, (8, 64, 16, 64, 2**15, 64), strict=True):
        goal = goal * radix + part
    model.minimize(goal)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    urgent, *rest = (int(solver.value(part)) for part in parts)
    return Cost(urgent - 5, *rest)


def _all_fit(case: Case, model: "cp_model.CpModel", goes: "dict[TaskId, cp_model.IntVar]") -> None:
    resources, by_task = case.cluster.resources, case.cluster.placements.by_task
    counts = []
    for row in np.flatnonzero(case.candidates).tolist():
        counts.append(model.new_int_var(0, case.count, f"tasks on {row}"))
        some = model.new_bool_var(f"some on {row}")
        model.add(counts[-1] == 0).only_enforce_if(~some)
        here = case.cluster.placements.by_row[row]
        for k in np.flatnonzero(case.column).tolist():
            free = int(resources.free[k, row]) + sum(int(by_task[t].column[k]) for t in here if t in case.exclude)
            freed = sum(int(by_task[task].column[k]) * goes[task] for task in here if task not in case.exclude)
            model.add(counts[-1] * int(case.column[k]) <= free + freed).only_enforce_if(some)
    model.add(sum(counts) >= case.count)


def _gangs(case: Case, model: "cp_model.CpModel", goes: "dict[TaskId, cp_model.IntVar]") -> "list[cp_model.IntVar]":
    members: dict[int, list[TaskId]] = {}
    for task, placement in case.running().items():
        if placement.victim_info.unit >= 0:
            members.setdefault(placement.victim_info.unit, []).append(task)
    broken = []
    for unit, tasks in members.items():
        falls = model.new_bool_var(f"gang {unit}")
        for task in tasks:
            model.add_implication(falls, goes[task])
        model.add(sum(goes[task] for task in tasks) <= case.slack.get(unit, 0)).only_enforce_if(~falls)
        broken.append(falls)
    return broken


def lost_s(victim_info: VictimInfo) -> int:
    elapsed_s = NOW - victim_info.since
    return int(elapsed_s % victim_info.checkpoint_s if victim_info.checkpoint_s else elapsed_s)
