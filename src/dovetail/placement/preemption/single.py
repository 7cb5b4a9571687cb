"""Room for one task: nodes are searched from the most promising on, until no other can be cheaper.

Guarantees: the cheapest victims, and of equal ones those on the lowest row. If the search runs out of steps, they are
the cheapest of the nodes searched so far.
"""

import numpy as np

from dovetail.placement.preemption.bounds import classes, least
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.row import RowSearch
from dovetail.placement.preemption.victim_ledger import Offer, VictimLedger, offers_of

#: Steps of branch and bound for one node, and for all. Steps are counted, so answers do not depend on the machine.
ROW_STEPS = 1_000
ALL_STEPS = 3_000
#: Rows that get a tighter bound, which costs more than the first one.
FEW = 128
#: Searching a node costs about as much as this many steps.
STEPS_A_ROW = 20


class OneSearch:
    def __init__(self, pool: VictimPool) -> None:
        self._pool, self._ledger = pool, VictimLedger(pool)
        self._best: tuple[int, int] | None = None  # price, row
        self._chosen: list[Offer] = []
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
