"""The cheapest victims for one task on nodes that a filter refuses for other reasons than amounts.

On each node the cheapest tasks are removed in a trial, one after the other, until all filters accept the node; then
those are put back, the dearest first, that turn out not to be needed.

Guarantees: the cluster is left as it is. None of the victims could be spared. Only the first nodes are tried, by row.
Left to others: gangs, and nodes where amounts decide (`search`).
"""

from collections.abc import Collection

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.victim_ledger import Offer, VictimLedger, Victims, offers_of

#: As many nodes are tried.
MOST_ROWS = 64


class TrialSearch:
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
        taken: list[Offer] = []
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

    def _accepts(self, row: int, offers: list[Offer]) -> bool:
        """Do all filters accept the node once these are gone?"""
        pool, placed = self._pool, self._cluster.placements.by_task
        slots = [slot for one in offers for slot in (pool.members(one.unit) if one.breaks else [one.slot])]
        with self._cluster.trial():
            for task in (*self._stopping, *map(pool.table.task, slots)):
                if task in placed:
                    self._cluster.remove(task)
            here = View(self._cluster).subset(np.array([row], dtype=np.intp))
            return bool(self._evaluator.run_filters(self._request, here).alive[0])
