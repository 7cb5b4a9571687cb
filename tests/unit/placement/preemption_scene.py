"""Full nodes for tests of preemption: tasks of one to four processors each, with work to lose."""

from collections.abc import Collection, Mapping

import numpy as np
from tests.unit.placement.scene import cluster_of

from dovetail.cluster.arrays import B1
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.preemption.search import find_victims
from dovetail.placement.preemption.victim_ledger import Victims
from dovetail.placement.preemption.victim_table import VictimArrays, VictimTable

NOW = 1000.0
BATCH, LOW, MEDIUM, HIGH = 4, 3, 2, 1


def nodes(count: int) -> Cluster:
    """Of four processors each."""
    return cluster_of(*[{} for _ in range(count)])


def run(
    cluster: Cluster,
    row: int,
    workload: int,
    replica: float = 0,
    cpu: float = 1,
    ran_s: float = 100,
    **victim_info: float,
) -> TaskId:
    """Place a task that has run so long; it loses nothing but what is given here."""
    task = TaskId(workload, int(replica))
    known = VictimInfo(rank=BATCH, group=workload, since=NOW - ran_s)._replace(**victim_info)  # type: ignore[arg-type]
    column = cluster.resources.vector({"cpu": 1000.0 * cpu, "slots": 1.0})
    cluster.place(task, row, column, None, known)
    return task


def below_high(victim_table: VictimArrays) -> B1:
    return victim_table.rank > HIGH


def ask(
    cluster: Cluster,
    cpu: float = 1,
    count: int = 1,
    budgets: Mapping[int, int] | None = None,
    slack: Mapping[int, int] | None = None,
    exclude: Collection[TaskId] = (),
    rows: Collection[int] | None = None,
    table: VictimTable | None = None,
) -> Victims | None:
    """Who gives way to tasks of so many processors and high priority, on these rows or on all."""
    candidates = np.array([rows is None or row in rows for row in range(cluster.width)], dtype=np.bool_)
    column = cluster.resources.vector({"cpu": 1000.0 * cpu, "slots": 1.0})
    return find_victims(cluster, candidates, column, count, below_high, NOW, budgets or {}, slack or {}, exclude, table)


def victims(found: Victims | None) -> list[TaskId]:
    assert found is not None
    return list(found.tasks)
