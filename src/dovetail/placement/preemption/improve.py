"""Improving an answer: victims that turned out not to be needed are spared, and parts of it are replaced elsewhere.

Guarantees: never more expensive than before, and no needless victim. The number of tries follows from the problem size.
"""

from collections.abc import Iterator

import numpy as np

from dovetail.placement.preemption.cost import VIOLATION
from dovetail.placement.preemption.gang import GangSearch
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.victim_ledger import VictimLedger
from dovetail.placement.preemption.victim_table import I8

#: The budget of all tries: one costs about the number of nodes and takeable tasks, plus twenty for each victim.
EFFORT = 24_000
MOST_TRIES = 32


class Trimmer:
    """Afterwards sparing any one victim, or any broken gang, would leave too little capacity."""

    def __init__(self, pool: VictimPool, ledger: VictimLedger, free: I8, count: int) -> None:
        """`free`: by row, how many of the tasks fit without any victims."""
        self._pool, self._ledger, self._count = pool, ledger, count
        rows, room = pool.without(sorted(ledger.victims))
        fits = np.minimum(pool.fits(room, rows), count)
        self._room = dict(zip(rows.tolist(), room.T.astype(np.int64).tolist(), strict=True))
        self._fits = dict(zip(rows.tolist(), fits.tolist(), strict=True))
        self._spare = int(free.sum()) + int((fits - free[rows]).sum()) - count

    def run(self) -> None:
        """Whole gangs first, the most expensive first."""
        ledger, pool = self._ledger, self._pool
        for unit in sorted(ledger.broken, key=lambda unit: (-ledger.pool.price(unit), unit)):
            if self._give_back(pool.members(unit)):
                ledger.unbreak(unit)
            elif pool.slack.get(unit):
                self._spare_most(unit)
        alone = [slot for slot in ledger.victims if pool.unit(slot) not in ledger.broken]
        for slot in sorted(alone, key=lambda slot: (-self._price(slot), -slot)):
            if self._give_back([slot]):
                ledger.release(slot)

    def _price(self, slot: int) -> int:
        group = self._pool.group(slot)
        over = group >= 0 and self._ledger.used[group] > self._pool.limits[group]
        return self._pool.weight(slot) + (VIOLATION if over else 0)

    def _spare_most(self, unit: int) -> None:
        """A broken gang that can continue without the victims that are needed."""
        members = sorted(self._pool.members(unit), key=lambda slot: (-self._pool.weight(slot), -slot))
        back = [slot for slot in members if self._give_back([slot])]
        needed = [slot for slot in members if slot not in set(back)]
        if len(needed) <= self._pool.slack[unit]:
            self._ledger.unbreak(unit)
            for slot in needed:
                self._ledger.take(slot)
        else:
            for slot in back:
                self._move(slot, 1)

    def _give_back(self, slots: list[int]) -> bool:
        """Undone again if there is too little room without them."""
        for slot in slots:
            self._move(slot, -1)
        if self._spare >= 0:
            return True
        for slot in slots:
            self._move(slot, 1)
        return False

    def _move(self, slot: int, sign: int) -> None:
        row = self._pool.row(slot)
        room = self._room[row]
        for k, size in enumerate(self._pool.size(slot).tolist()):
            room[k] += sign * int(size)
        if self._pool.candidates[row]:
            fits = min(free // need for free, need in zip(room, self._pool.column, strict=True))
            fits = max(0, min(fits, self._count))
            self._spare += fits - self._fits[row]
            self._fits[row] = fits


def improved(pool: VictimPool, ledger: VictimLedger, free: I8, count: int) -> VictimLedger:
    """What if this gang, or these victims of one node, were spared? One part of the answer after the other, the most
    expensive first, is excluded and replaced elsewhere; if the result is cheaper, it becomes the answer."""
    size = pool.room.shape[1] + len(pool.slots) + 20 * len(ledger.victims)
    tries = min(MOST_TRIES, EFFORT // size)
    seen: set[tuple[int, ...]] = set()
    while True:
        better = None
        for part in _parts(ledger):
            if tries <= 0:
                return ledger
            if part not in seen:
                seen.add(part)
                tries -= 1
                better = _without(pool, ledger, part, free, count)
                if better is not None:
                    break
        if better is None:
            return ledger
        ledger = better


def _parts(ledger: VictimLedger) -> Iterator[tuple[int, ...]]:
    """Slots of each broken gang, and of the single victims of each node; the most expensive first."""
    pool = ledger.pool
    parts: dict[tuple[bool, int], list[int]] = {}
    for slot in sorted(ledger.victims):
        unit = pool.unit(slot)
        key = (True, unit) if unit in ledger.broken else (False, pool.row(slot))
        parts.setdefault(key, []).append(slot)
    prices = {key: (not key[0], -sum(map(pool.weight, slots)), key[1]) for key, slots in parts.items()}
    for key in sorted(parts, key=prices.__getitem__):
        yield tuple(parts[key])


def _without(
    pool: VictimPool, ledger: VictimLedger, part: tuple[int, ...], free: I8, count: int
) -> VictimLedger | None:
    """Another answer without this part, if it is cheaper."""
    rest = VictimLedger(pool)
    gone = ledger.victims.difference(part)
    for unit in sorted(ledger.broken):
        if pool.members(unit)[0] not in part:
            rest.break_up(unit)
    for slot in sorted(gone - rest.victims):
        rest.take(slot)
    takeable = pool.takeable
    pool.takeable = takeable.copy()
    pool.takeable[[*part, *gone]] = False
    found = GangSearch(pool, count, rest).run()
    pool.takeable = takeable
    if found is None:
        return None
    Trimmer(pool, found, free, count).run()
    return found if found.total < ledger.total else None
