"""The victims for one task: by amounts (`OneSearch`), or by trial where a filter refuses for other reasons
(`TrialSearch`)."""

from collections.abc import Collection

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption.bounds import classes, least
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.row import RowSearch
from dovetail.placement.preemption.victim_ledger import VictimLedger, VictimOffer, Victims, offers_of

#: Steps of branch and bound for one node, and for all. Steps are counted, so answers do not depend on the machine.
ROW_STEPS = 1_000
ALL_STEPS = 3_000
#: Rows that get a tighter bound, which costs more than the first one.
FEW = 128
#: Searching a node costs about as much as this many steps.
STEPS_A_ROW = 20
#: As many nodes are tried, the lowest rows.
MOST_ROWS = 64


class OneSearch:
    """Searches nodes from the most promising on, until no other can be cheaper: the cheapest victims, and of equal ones
    those on the lowest row. If the search runs out of steps, they are the cheapest of the nodes searched so far."""

    def __init__(self, pool: VictimPool) -> None:
        self._pool, self._ledger = pool, VictimLedger(pool)
        self._best: tuple[int, int] | None = None  # price, row
        self._chosen: list[VictimOffer] = []
        self._steps_left = ALL_STEPS

    def run(self) -> VictimLedger | None:
        wanted = np.ones(self._pool.room.shape[1], dtype=np.int64)
        for group in classes(self._pool, self._pool.room, wanted, self._worth, FEW):
            for place in np.lexsort((group.rows, group.victims, group.lost_s)).tolist():
                row, price = int(group.rows[place]), least(group.head, group.lost_s[place], group.victims[place])
                if self._best is not None and ((price, row) >= self._best or self._steps_left <= 0):
                    break
                self._look_at(row)
        if self._best is None:
            return None
        self._ledger.take_all(self._chosen)
        return self._ledger

    def _worth(self, head: int) -> bool:
        """Whether victims of this head could still be cheaper, or as cheap on a lower row."""
        return self._best is None or (self._steps_left > 0 and least(head) <= self._best[0])

    def _look_at(self, row: int) -> None:
        missing = missing_for(self._pool, self._pool.room[:, row].tolist(), 1)
        below = None if self._best is None else self._best[0] + (row < self._best[1])
        search = RowSearch(self._ledger, offers_of(self._pool, self._ledger, row, below), missing, below, ROW_STEPS)
        found = search.run()
        self._steps_left -= STEPS_A_ROW + ROW_STEPS - max(search.steps_left, 0)
        if found is not None:
            self._best, self._chosen = (search.price, row), found


def missing_for(pool: VictimPool, room: list[float], count: int) -> tuple[int, ...]:
    """By needed resource: what a node with this free capacity lacks for so many tasks; negative where it has more."""
    return tuple([count * need - int(free) for need, free in zip(pool.column, room, strict=True)])


class TrialSearch:
    """On each node the cheapest tasks are removed in a trial, one after the other, until all filters accept the node;
    then those are put back, the dearest first, that turn out not to be needed. The cluster is left as it is, and none
    of the victims could be spared."""

    def __init__(self, pool: VictimPool, evaluator: Evaluator, request: Request, stopping: Collection[TaskId]) -> None:
        """The pool's candidates are the nodes to try; `stopping`: tasks that are about to leave anyway."""
        self._pool, self._evaluator, self._request, self._stopping = pool, evaluator, request, stopping
        self._cluster = pool.table.cluster

    def run(self) -> Victims | None:
        for _ in self._pool.thresholds(1):
            rows = np.unique(self._pool.rows)[:MOST_ROWS].tolist()
            found = [one for row in rows if (one := self._on(row)) is not None]
            if found:
                return min(found, key=lambda one: (one.cost, one.placements))
        return None

    def _on(self, row: int) -> Victims | None:
        pool = self._pool
        taken: list[VictimOffer] = []
        for offer in sorted(offers_of(pool, VictimLedger(pool), row), key=lambda one: (one.weight, one.slot)):
            if offer.unit < 0 or all(one.unit != offer.unit for one in taken):  # one offer of a gang
                taken.append(offer)
                if self._accepts(row, taken):
                    break
        else:
            return None
        for offer in reversed(taken[:-1]):
            rest = [one for one in taken if one is not offer]
            if self._accepts(row, rest):
                taken = rest
        ledger = VictimLedger(pool)
        ledger.take_all(taken)
        return ledger.result((row,))

    def _accepts(self, row: int, offers: list[VictimOffer]) -> bool:
        """Do all filters accept the node once these are gone?"""
        pool, placed = self._pool, self._cluster.placements.by_task
        slots = [slot for one in offers for slot in (pool.members(one.unit) if one.breaks else [one.slot])]
        with self._cluster.trial():
            for task in (*self._stopping, *map(pool.table.task, slots)):
                if task in placed:
                    self._cluster.remove(task)
            here = View(self._cluster).subset(np.array([row], dtype=np.intp))
            return bool(self._evaluator.run_filters(self._request, here).alive[0])
