"""The cheapest victims that make room for a task, or for all tasks of a gang at once.

Guarantees: pure and deterministic; the cluster is not changed. Either all `count` tasks fit once the victims are gone,
and no victim could be spared, or the answer is None because evicting everyone would not be enough.
Leaves to others: which nodes the filters allow, who may preempt whom, stopping the victims, and the grace period.
Capacity is what allocations leave, also where a profile places by measured use.
"""

from collections.abc import Collection, Mapping

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.preemption.cost import cost_of
from dovetail.placement.preemption.gang import GangSearch
from dovetail.placement.preemption.improve import Trimmer, improved
from dovetail.placement.preemption.pool import Eligible, VictimPool
from dovetail.placement.preemption.single import OneSearch
from dovetail.placement.preemption.small import SmallCase, is_small
from dovetail.placement.preemption.victim_ledger import VictimLedger, Victims
from dovetail.placement.preemption.victim_table import I8, VictimTable


def find_victims(
    cluster: Cluster,
    candidates: B1,
    column: F8,
    count: int,
    eligible: Eligible,
    now: float,
    budgets: Mapping[int, int],
    slack: Mapping[int, int],
    exclude: Collection[TaskId] = (),
    victim_table: VictimTable | None = None,
) -> Victims | None:
    """`candidates`: rows that pass every filter but capacity. `budgets`: by workload, how many more tasks may be
    disturbed; `slack`: by gang, how many tasks it can lose and continue. `exclude`: tasks that are stopping already;
    their capacity counts as free, and neither budgets nor slack are charged for them here. Keep `victim_table` from
    call to call: building it reads every placed task."""
    table = VictimTable(cluster) if victim_table is None else victim_table
    table.refresh()
    pool = VictimPool(table, candidates[: cluster.width], column, eligible, now, budgets, slack, exclude)
    free = pool.holds(pool.room, 1).astype(np.int64) if count == 1 else np.minimum(pool.fits(pool.room), count)
    if free.sum() >= count:
        return Victims((), _rows(free, free, count), cost_of(0, 0))
    for _ in pool.thresholds(count):
        ledger = _cheapest(pool, free, count)
        if ledger is not None:
            return _victims(pool, ledger, free, count)
    return None


def _cheapest(pool: VictimPool, free: I8, count: int) -> VictimLedger | None:
    found = OneSearch(pool).run() if count == 1 else GangSearch(pool, count).run()
    if found is not None:
        Trimmer(pool, found, free, count).run()
    if count > 1 and is_small(pool):
        return SmallCase(pool, count, None if found is None else found.total).run() or found
    return found if found is None or count == 1 else improved(pool, found, free, count)


def _victims(pool: VictimPool, ledger: VictimLedger, free: I8, count: int) -> Victims:
    rows, room = pool.without(sorted(ledger.victims))
    fits = free.copy()
    fits[rows] = np.minimum(pool.fits(room, rows), count)
    return ledger.result(_rows(free, fits, count))


def _rows(free: I8, fits: I8, count: int) -> tuple[int, ...]:
    """The row of each task: free capacity first, then what the victims leave, the lowest rows first."""
    first = np.repeat(np.arange(len(free)), free)[:count]
    then = np.repeat(np.arange(len(fits)), fits - free)[: count - len(first)]
    return tuple(sorted([*first.tolist(), *then.tolist()]))
