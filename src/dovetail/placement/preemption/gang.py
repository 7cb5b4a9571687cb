"""Room for several tasks at once, greedily: repeat the step with the lowest price for each task that then fits.

A step frees capacity on one node for one or more tasks, or breaks a gang and counts what that frees everywhere. All
steps wait in one heap by estimate; a step is computed only when it reaches the top, so few nodes are searched closely.
Guarantees: all tasks fit afterwards, or None; no victim is useless.
Leaves to others: the exact answer where the case is small (`small`).
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.preemption.bounds import classes, least
from dovetail.placement.preemption.cost import BROKEN_GANG, LOST_SECOND, TOO_SOON
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.row import RowSearch
from dovetail.placement.preemption.single import missing_for
from dovetail.placement.preemption.victim_ledger import VictimLedger, VictimOffer, offers_of
from dovetail.placement.preemption.victim_table import I8

#: Steps of branch and bound for one node, and for all; after that each node's greedy answer is used.
ROW_STEPS = 150
ALL_STEPS = 8_000
#: Gains tried on one node.
MOST_GAIN = 8
#: Divisible by every gain that is tried, and by most others: prices a task stay whole numbers.
_SHARE = 720_720
_ROW, _UNIT = 0, 1


@dataclass(slots=True)
class ClearingStep:
    key: int  # price a task: its place in the heap
    gain: int
    offers: list[VictimOffer]
    stamp: int  # how many steps had been made when it was computed
    coupled: bool  # other steps may make it more expensive


class GangSearch:
    def __init__(self, pool: VictimPool, count: int, ledger: VictimLedger | None = None) -> None:
        """`ledger`: victims that are fixed already; the search adds to it."""
        self.pool, self.count = pool, count
        self.ledger = VictimLedger(pool) if ledger is None else ledger
        self.room: F8 = pool.room + pool.freed(np.array(sorted(self.ledger.victims), dtype=np.int64))
        self.fits: I8 = pool.fits(self.room)
        self.missing = self._still_missing()
        self._moves_made = 0
        self._steps_left = ALL_STEPS
        self._changed: dict[int, int] = {}  # by row: after how many moves its room changed last
        self._moves: dict[tuple[int, int], ClearingStep] = {}
        self._heap: list[tuple[int, int, int]] = []  # price a task, kind, row or gang

    def _still_missing(self) -> int:
        return self.count - int(np.minimum(self.fits, self.count).sum())

    def run(self) -> VictimLedger | None:
        self._heap = [*self._row_estimates(), *self._unit_estimates()]
        heapify(self._heap)
        while self.missing > 0 and self._heap:
            key, kind, name = heappop(self._heap)
            move = self._moves.get((kind, name))
            if move is None or not self._holds(kind, name, move):
                self._work_out(kind, name)
            elif key == move.key:  # else it was computed since then, and waits at its new place
                self._make(self.ledger.take_all(move.offers))
        if self.missing > 0:
            self._take_everyone()
        return None if self.missing > 0 else self.ledger

    # --- estimates -------------------------------------------------------------------------------------------

    def _row_estimates(self) -> list[tuple[int, int, int]]:
        """By row: a lower bound of the price for each task, from one more task up to all that the node could take."""
        pool = self.pool
        most = np.minimum(pool.fits(pool.most) - self.fits, min(MOST_GAIN, self.missing))
        prices: dict[int, int] = {}
        for group in classes(pool, self.room, self.fits + 1, lambda _: True):
            gains = np.maximum(most[group.rows], 1).tolist()
            for row, lost_s, gain in zip(group.rows.tolist(), group.lost_s.tolist(), gains, strict=True):
                head = least(group.head)
                prices[row] = (head * _SHARE) // gain + int(lost_s) * LOST_SECOND * _SHARE
        return [(price, _ROW, row) for row, price in prices.items()]

    def _unit_estimates(self) -> list[tuple[int, int, int]]:
        """Gangs that free capacity for at least one task, by what the whole gang would lose."""
        pool = self.pool
        places = np.flatnonzero(pool.takeable[pool.slots] & (pool.units >= 0))
        places = places[pool.breakables(pool.units[places])]
        if not len(places):
            return []
        width = self.room.shape[1]
        pairs, which = np.unique(pool.units[places] * width + pool.rows[places], return_inverse=True)
        rows, units = pairs % width, pairs // width
        freed = np.array([np.bincount(which, sizes) for sizes in pool.amounts[:, places]])
        after = np.floor_divide(self.room[:, rows] + freed, np.array(pool.column)[:, None]).min(axis=0)
        gains = np.bincount(units, np.maximum(after - self.fits[rows], 0)).astype(np.int64)
        each_s, each_soon = pool.losses(pool.ganged)
        lost_s = np.bincount(pool.ganged_units, each_s)
        soon = np.bincount(pool.ganged_units, each_soon)
        found = []
        for unit in np.flatnonzero(gains).tolist():
            price = BROKEN_GANG + int(soon[unit]) * TOO_SOON + int(lost_s[unit]) * LOST_SECOND
            found.append((price * _SHARE // min(int(gains[unit]), self.missing), _UNIT, unit))
        return found

    # --- moves -----------------------------------------------------------------------------------------------

    def _holds(self, kind: int, name: int, move: ClearingStep) -> bool:
        if move.gain > self.missing or (move.coupled and move.stamp < self._moves_made):
            return False
        return kind == _UNIT or move.stamp >= self._changed.get(name, 0)

    def _work_out(self, kind: int, name: int) -> None:
        """Compute the step as things stand and push it with its real price; drop it if it gains nothing."""
        found = self._row_move(name) if kind == _ROW else self._unit_move(name)
        if found is not None:
            self._moves[kind, name] = found
            heappush(self._heap, (found.key, kind, name))

    def _row_move(self, row: int) -> ClearingStep | None:
        offers = offers_of(self.pool, self.ledger, row)
        room = self.room[:, row].tolist()
        best: ClearingStep | None = None
        for gain in range(1, min(self.missing, MOST_GAIN) + 1):
            missing = missing_for(self.pool, room, int(self.fits[row]) + gain)
            below = None if best is None else -(-best.key * gain // _SHARE)
            steps = min(ROW_STEPS, self._steps_left)
            search = RowSearch(self.ledger, offers, missing, below, steps)
            found = search.run()
            self._steps_left -= steps - max(search.steps_left, 0)
            if found is not None:
                coupled = any(offer.unit >= 0 or offer.groups for offer in found)
                best = ClearingStep(search.price * _SHARE // gain, gain, found, self._moves_made, coupled)
            elif not search.possible:
                break
        return best

    def _unit_move(self, unit: int) -> ClearingStep | None:
        if unit in self.ledger.broken:
            return None
        slots = self.ledger.breaking(unit)
        rows, freed = self.pool.freed_where(slots)
        after = self.pool.fits(self.room[:, rows] + freed, rows)
        gain = min(int(np.maximum(after - self.fits[rows], 0).sum()), self.missing)
        if not gain:
            return None
        price = self.ledger.price(unit)
        offer = VictimOffer((), price, price, slots[0], unit, True, {})
        return ClearingStep(price * _SHARE // gain, gain, [offer], self._moves_made, coupled=True)

    def _make(self, gone: list[int]) -> None:
        rows, freed = self.pool.freed_where(gone)
        self.room[:, rows] += freed
        self.fits[rows] = self.pool.fits(self.room[:, rows], rows)
        self.missing = self._still_missing()
        self._moves_made += 1
        for row in rows.tolist():
            self._changed[row] = self._moves_made
            # A gang broken elsewhere may have made this node cheaper: it is computed again at once.
            if self.pool.candidates[row]:
                heappush(self._heap, (0, _ROW, row))

    def _take_everyone(self) -> None:
        """The last resort, where gangs lost tasks on the wrong nodes: evict every eligible task."""
        gone: list[int] = []
        for slot in self.pool.slots[self.pool.takeable[self.pool.slots]].tolist():
            unit = self.pool.unit(slot)
            if slot in self.ledger.victims or unit in self.ledger.broken:
                continue
            if unit >= 0 and self.pool.breakable(unit):
                gone += self.ledger.break_up(unit)
            elif unit < 0 or self.ledger.may_give(unit) > 0:
                self.ledger.take(slot)
                gone.append(slot)
        if gone:
            self._make(gone)
