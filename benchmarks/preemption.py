"""How long it takes to say who must give way: for one task, and for a gang of 64, on 5,000 full nodes.

Nodes hold 10 to 20 tasks each, of all priorities but the highest, with checkpoints, least run times, disruption budgets
and gangs across nodes. Between two questions some tasks end and others start, as they would, so that keeping the
victim table up to date is part of what is measured; building it for the first time is not.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, quantile, quiet
from dovetail.cluster.arrays import B1
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.state import Cluster
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId
from dovetail.placement.preemption.search import find_victims
from dovetail.placement.preemption.victim_ledger import Victims
from dovetail.placement.preemption.victim_table import VictimArrays, VictimTable

ONE = at_most("queue.preemption_one_ms", 10.0, "ms")
GANG = at_most("queue.preemption_gang_ms", 250.0, "ms")

NODES = 5_000
NOW = 1_000_000.0
GIB = 2**30
ROUNDS, QUESTIONS = 5, 20
GANG_SIZE = 64
ENDING = 20  # tasks that end, and others that start, between two questions


@dataclass
class Fleet:
    """Full nodes, and what the engine would know of the work on them."""

    cluster: Cluster = field(default_factory=Cluster)
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    budgets: dict[int, int] = field(default_factory=dict)
    slack: dict[int, int] = field(default_factory=dict)
    victim_table: list[VictimInfo] = field(default_factory=list)
    started: int = 0

    def fill(self) -> None:
        capacity = Capacity(cpu=64, memory=512 * GIB, gpu=8, slots=20)
        for i in range(NODES):
            self.cluster.join(Node(name=f"node-{i:05d}", capacity=capacity))
        for workload in range(12_000):
            self.victim_table.append(self._stake(workload))
        for row in range(NODES):
            self.fill_node(row)

    def _stake(self, workload: int) -> VictimInfo:
        chance = self.chance
        gang = chance.random() < 0.15
        if chance.random() < 0.3:
            self.budgets[workload] = chance.randint(0, 3)
        if gang and chance.random() < 0.5:
            self.slack[workload] = chance.randint(0, 2)
        return VictimInfo(
            rank=chance.choice((1, 2, 2, 3, 3, 4)),
            checkpoint_s=chance.choice((0, 600, 1800, 3600)),
            min_run_s=chance.choice((0, 0, 300, 3600)),
            unit=workload if gang else -1,
            group=workload,
        )

    def fill_node(self, row: int) -> None:
        """Until nothing more goes in, or 20 tasks are there; the last ones take what is left of the processors."""
        chance, resources = self.chance, self.cluster.resources
        while True:
            cpu, memory, gpu, slots = (
                resources.free[resources.index[n], row] for n in ("cpu", "memory", "gpu", "slots")
            )
            if slots < 1 or cpu < 500 or memory < GIB:
                return
            wanted = {"cpu": min(cpu, chance.choice((2000, 4000, 8000))), "slots": 1.0}
            wanted["memory"] = min(memory, float(chance.randint(4, 60) * GIB))
            wanted["gpu"] = min(gpu, chance.choice((0.0, 0.0, 1000.0, 1000.0, 2000.0)))
            victim_info = chance.choice(self.victim_table)._replace(since=NOW - chance.randint(0, 200_000))
            self.started += 1
            self.cluster.place(
                TaskId(victim_info.group, self.started), row, resources.vector(wanted), None, victim_info
            )

    def turn_over(self) -> None:
        for _ in range(ENDING):
            row = self.chance.randrange(NODES)
            self.cluster.remove(self.chance.choice(sorted(self.cluster.placements.by_row[row])))
            self.fill_node(row)

    def ask(self, table: VictimTable, count: int, **wanted: float) -> Victims | None:
        candidates: B1 = np.ones(NODES, dtype=np.bool_)
        column = self.cluster.resources.vector({"slots": 1.0, **wanted})
        return find_victims(
            self.cluster, candidates, column, count, _less_urgent, NOW, self.budgets, self.slack, (), table
        )


def _less_urgent(victim_table: VictimArrays) -> B1:
    """Who a task of high priority may displace."""
    return victim_table.rank > 1


def _rounds(bench: Bench, fleet: Fleet, table: VictimTable, count: int, questions: int) -> Iterator[float]:
    """For each round, what nine of ten questions do not exceed."""
    for _ in range(ROUNDS):
        times_s = []
        for _ in range(questions):
            fleet.turn_over()
            cpu, memory = fleet.chance.choice((8000.0, 16_000.0, 32_000.0)), fleet.chance.randint(16, 128) * GIB
            gpu = fleet.chance.choice((1000.0, 2000.0, 4000.0, 8000.0))
            start = perf_counter()
            found = fleet.ask(table, count, cpu=cpu, memory=float(memory), gpu=gpu)
            times_s.append(perf_counter() - start)
            assert found is not None, "everyone together should do"
            assert found.tasks, "the nodes are full"
        p90_ms = quantile(times_s, 0.9) * 1000
        bench.say(f"{count} task(s): p90 {p90_ms:.2f} ms, worst {max(times_s) * 1000:.2f} ms")
        yield p90_ms


@benchmark(ONE, GANG)
def victims(bench: Bench) -> Iterator[tuple[str, Measured]]:
    fleet = Fleet()
    fleet.fill()
    bench.say(f"{NODES:,} nodes hold {len(fleet.cluster.placements.by_task):,} tasks")
    table = VictimTable(fleet.cluster)
    with quiet():
        yield ONE.name, middle(list(_rounds(bench, fleet, table, 1, QUESTIONS)), f"p90s of {QUESTIONS} questions")
        few = QUESTIONS // 4
        yield GANG.name, middle(list(_rounds(bench, fleet, table, GANG_SIZE, few)), f"p90s of {few} questions")
