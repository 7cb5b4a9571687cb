"""Small cases exactly: every set of gangs to break, and for each the best of all sets of single victims.

Once the broken gangs are fixed, nodes depend on each other only through budgets and through gangs that lose some tasks.
Each node has a short list of choices: sets without a needless victim, none worse than another in every respect. They
are combined node by node, with branch and bound.
Guarantees: the answer is the cheapest, unless `STEPS` ran out; None if nothing is below the price to beat.
"""

from collections import Counter
from itertools import combinations

import numpy as np

from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.victim_ledger import VictimLedger

MOST_ON_A_NODE = 10
MOST_SETS = 2_048
MOST_GANGS = 8
STEPS = 20_000


class SmallChoice:
    """Some victims of one node, and how many tasks more it then holds."""

    __slots__ = ("gain", "groups", "price", "slots", "units")

    def __init__(self, pool: VictimPool, slots: tuple[int, ...], gain: int) -> None:
        self.slots, self.gain = slots, gain
        self.price = sum(map(pool.weight, slots))
        self.groups = Counter(group for group in map(pool.group, slots) if group >= 0)
        self.units = Counter(unit for unit in map(pool.unit, slots) if unit >= 0)

    def as_good_as(self, other: "SmallChoice") -> bool:
        return (
            self.gain >= other.gain
            and self.price <= other.price
            and self.groups <= other.groups
            and self.units <= other.units
        )


def is_small(pool: VictimPool) -> bool:
    if len(pool.slots) > 64:
        return False
    counts = np.bincount(pool.rows)
    units = set(pool.units.tolist()) - {-1}
    return int(counts.max()) <= MOST_ON_A_NODE and int((2**counts).sum()) <= MOST_SETS and len(units) <= MOST_GANGS


class SmallCase:
    def __init__(self, pool: VictimPool, count: int, below: int | None) -> None:
        self._pool, self._count, self._below = pool, count, below
        self._best: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # gangs broken, single victims
        self._steps_left = STEPS
        slots = pool.slots.tolist()
        self._slots: dict[int, list[int]] = {}
        for slot in slots:
            self._slots.setdefault(pool.row(slot), []).append(slot)
        self._units = [unit for unit in sorted({pool.unit(slot) for slot in slots} - {-1}) if pool.breakable(unit)]
        self._choices: dict[tuple[int, tuple[int, ...]], tuple[int, list[SmallChoice]]] = {}
        fits = np.minimum(pool.fits(pool.room), count)
        self._elsewhere = int(fits.sum()) - sum(int(fits[row]) for row in self._slots)

    def run(self) -> VictimLedger | None:
        broken_sets = [gangs for n in range(len(self._units) + 1) for gangs in combinations(self._units, n)]
        priced = sorted((self._broken(gangs).total, gangs) for gangs in broken_sets)
        for price, gangs in priced:
            if self._below is not None and price >= self._below:
                break
            self._with_broken(gangs)
        if self._best is None:
            return None
        ledger = self._broken(self._best[0])
        for slot in self._best[1]:
            ledger.take(slot)
        return ledger

    def _broken(self, gangs: tuple[int, ...]) -> VictimLedger:
        ledger = VictimLedger(self._pool)
        for unit in gangs:
            ledger.break_up(unit)
        return ledger

    # --- one node --------------------------------------------------------------------------------------------

    def _menu(self, row: int, gangs: tuple[int, ...]) -> tuple[int, list[SmallChoice]]:
        """What the node holds with these gangs broken, and its choices."""
        here = tuple(sorted({self._pool.unit(slot) for slot in self._slots[row]} & set(gangs)))
        found = self._choices.get((row, here))
        if found is None:
            found = self._choices[row, here] = self._work_out(row, here)
        return found

    def _work_out(self, row: int, gangs: tuple[int, ...]) -> tuple[int, list[SmallChoice]]:
        pool = self._pool
        free = [slot for slot in self._slots[row] if pool.unit(slot) in gangs]
        slots = [
            slot
            for slot in self._slots[row]
            if pool.unit(slot) not in gangs and (pool.unit(slot) < 0 or pool.slack.get(pool.unit(slot), 0))
        ]
        room = pool.room[:, row] + sum(map(pool.size, free))
        base = self._fit(room)
        held: dict[tuple[int, ...], int] = {(): base}
        found: list[SmallChoice] = []
        for n in range(1, len(slots) + 1):
            for some in combinations(slots, n):
                held[some] = fit = self._fit(room + sum(map(pool.size, some)))
                if fit > max(held[some[:i] + some[i + 1 :]] for i in range(n)):
                    choice = SmallChoice(pool, some, min(fit, self._count) - base)
                    if choice.gain > 0 and all(pool.slack[unit] >= k for unit, k in choice.units.items()):
                        found.append(choice)
        found.sort(key=lambda choice: (choice.price, -choice.gain, choice.slots))
        kept: list[SmallChoice] = []
        for choice in found:
            if not any(other.as_good_as(choice) for other in kept):
                kept.append(choice)
        return base, kept

    def _fit(self, room: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> int:
        counts = [int(free) // need for free, need in zip(room.tolist(), self._pool.column, strict=True)]
        return max(0, min(min(counts), self._count))

    # --- all nodes -------------------------------------------------------------------------------------------

    def _with_broken(self, gangs: tuple[int, ...]) -> None:
        menus = [self._menu(row, gangs) for row in sorted(self._slots)]
        need = self._count - self._elsewhere - sum(base for base, _ in menus)
        self._menus = [choices for _, choices in menus if choices]
        self._rest = self._cheapest_rests(max(need, 0))
        ledger = self._broken(gangs)
        self._ledger, self._given = ledger, Counter[int]()
        self._gangs, self._taken = gangs, list[SmallChoice]()
        self._combine(0, max(need, 0), ledger.total)

    def _cheapest_rests(self, need: int) -> list[list[int | None]]:
        """By menu and need: what the menus from there on cost at least; None: they cannot."""
        rests: list[list[int | None]] = [[0] + [None] * need]
        for choices in reversed(self._menus):
            after, now = rests[-1], list(rests[-1])
            for want in range(1, need + 1):
                for choice in choices:
                    rest = after[max(0, want - choice.gain)]
                    best = now[want]
                    if rest is not None and (best is None or rest + choice.price < best):
                        now[want] = rest + choice.price
            rests.append(now)
        rests.reverse()
        return rests

    def _combine(self, at: int, need: int, price: int) -> None:
        self._steps_left -= 1
        rest = self._rest[at][need]
        if rest is None or self._steps_left < 0 or (self._below is not None and price + rest >= self._below):
            return
        if not need:
            self._below = price
            self._best = self._gangs, tuple(slot for choice in self._taken for slot in choice.slots)
            return
        for choice in self._menus[at]:
            if any(self._given[unit] + k > self._pool.slack[unit] for unit, k in choice.units.items()):
                continue
            added = choice.price + self._ledger.overrun(choice.groups)
            self._taken.append(choice)
            self._ledger.used.update(choice.groups)
            self._given.update(choice.units)
            self._combine(at + 1, max(0, need - choice.gain), price + added)
            self._taken.pop()
            self._ledger.used.subtract(choice.groups)
            self._given.subtract(choice.units)
        self._combine(at + 1, need, price)
