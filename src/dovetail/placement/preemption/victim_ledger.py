"""The victims chosen so far (`VictimLedger`), and the possible victims of one node with their prices (`VictimOffer`).

Guarantees: `total` is what the victims cost together, budgets and gangs included; `take` and `release` are inverse to
each other. A gang that loses more than it can is broken, and all its tasks are victims.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.model.task import TaskId
from dovetail.placement.preemption.cost import BROKEN_GANG, VIOLATION, Cost, cost_of
from dovetail.placement.preemption.pool import VictimPool

_NONE: Mapping[int, int] = {}


class Victims(NamedTuple):
    """The victims, the rows of the tasks they make room for, and the cost."""

    tasks: tuple[TaskId, ...]
    placements: tuple[int, ...]
    cost: Cost


class VictimLedger:
    def __init__(self, pool: VictimPool) -> None:
        self.pool = pool
        self.victims: set[int] = set()  # slots
        self.used: Counter[int] = Counter()  # by group with a budget
        self.given: Counter[int] = Counter()  # by gang that goes on: members taken
        self.broken: set[int] = set()
        self.total = 0

    def may_give(self, unit: int) -> int:
        """How many more tasks a gang can lose and continue."""
        return self.pool.slack.get(unit, 0) - self.given[unit]

    def overrun(self, counts: Mapping[int, int]) -> int:
        """What so many more victims of these groups cost in budgets."""
        found = 0
        for group, count in counts.items():
            left = self.pool.limits[group] - self.used[group]
            found += max(0, count - max(0, left))
        return found * VIOLATION

    def groups(self, slots: Iterable[int]) -> Counter[int]:
        counts = Counter(map(self.pool.group, slots))
        del counts[-1]
        return counts

    def breaking(self, unit: int) -> list[int]:
        """The further victims if this gang is broken now."""
        return [slot for slot in self.pool.members(unit) if slot not in self.victims]

    def price(self, unit: int) -> int:
        """What breaking this gang costs now, budgets included."""
        rest = self.breaking(unit) if self.given[unit] else self.pool.members(unit)
        paid = sum(map(self.pool.weight, self.victims.intersection(self.pool.members(unit)))) if self.given[unit] else 0
        return self.pool.price(unit) - paid + self.overrun(self.groups(rest))

    def take(self, slot: int) -> None:
        """Evict one task that is in no gang, or in one that can lose it."""
        unit = self.pool.unit(slot)
        self._count(slot)
        if unit >= 0:
            self.given[unit] += 1

    def break_up(self, unit: int) -> list[int]:
        rest = self.breaking(unit)
        for slot in rest:
            self._count(slot)
        self.total += BROKEN_GANG
        self.broken.add(unit)
        self.given[unit] = 0
        return rest

    def take_all(self, offers: "Iterable[VictimOffer]") -> list[int]:
        """Returns the slots of all victims."""
        gone: list[int] = []
        for offer in offers:
            if offer.breaks:
                gone += self.break_up(offer.unit)
            else:
                self.take(offer.slot)
                gone.append(offer.slot)
        return gone

    def release(self, slot: int) -> None:
        """Undo `take`."""
        unit = self.pool.unit(slot)
        self._uncount(slot)
        if unit >= 0:
            self.given[unit] -= 1

    def unbreak(self, unit: int) -> list[int]:
        """Undo breaking a gang: all of it continues."""
        members = self.pool.members(unit)
        for slot in members:
            self._uncount(slot)
        self.total -= BROKEN_GANG
        self.broken.discard(unit)
        return members

    def result(self, placements: tuple[int, ...]) -> Victims:
        """The victims that are chosen, for tasks on these rows."""
        slots, table = sorted(self.victims), self.pool.table
        rank = min(table.arrays.rank[slots].tolist())
        return Victims(tuple(sorted(map(table.task, slots))), placements, cost_of(rank, self.total))

    def _count(self, slot: int) -> None:
        group = self.pool.group(slot)
        if group >= 0:
            self.total += VIOLATION if self.used[group] >= self.pool.limits[group] else 0
            self.used[group] += 1
        self.victims.add(slot)
        self.total += self.pool.weight(slot)

    def _uncount(self, slot: int) -> None:
        group = self.pool.group(slot)
        if group >= 0:
            self.used[group] -= 1
            self.total -= VIOLATION if self.used[group] >= self.pool.limits[group] else 0
        self.victims.discard(slot)
        self.total -= self.pool.weight(slot)


@dataclass(slots=True, eq=False)
class VictimOffer:
    """A task, or a whole gang, that could be evicted. `weight` is what it costs if taken alone, on top of what the
    ledger holds; taken with others it never costs less. `unit` is the gang of the tasks, or -1; `breaks`: all of it
    goes."""

    sizes: tuple[int, ...]  # by needed resource: what it frees on this node
    weight: int
    base: int  # the weight without what it costs in budgets
    slot: int  # the task, or the first of the gang on this node
    unit: int
    breaks: bool
    groups: Mapping[int, int]  # victims by group, where a group has a budget

    def like(self, other: "VictimOffer") -> bool:
        """The two are interchangeable, whatever else is chosen."""
        mine, others = ((one.sizes, one.weight, one.unit, one.groups) for one in (self, other))
        return mine == others and not self.breaks and not other.breaks


def offers_of(pool: VictimPool, ledger: VictimLedger, row: int, below: int | None = None) -> list[VictimOffer]:
    """Those of one node that cost less than `below`, as far as a quick check tells, in a fixed order."""
    unbroken = below is not None and below <= BROKEN_GANG
    at = pool.table.slots(row)
    slots = (np.flatnonzero(pool.takeable[at]) + at.start).tolist()
    sizes = pool.size(at).T.astype(np.int64).tolist()
    found: list[VictimOffer] = []
    gangs: dict[int, list[int]] = {}
    for slot in slots:
        if slot in ledger.victims:
            continue
        unit = pool.unit(slot)
        if unit >= 0 and not unbroken and pool.breakable(unit):
            gangs.setdefault(unit, []).append(slot)
        if unit < 0 or ledger.may_give(unit) > 0:
            group = pool.group(slot)
            groups = _NONE if group < 0 else {group: 1}
            base = pool.weight(slot)
            price = base + ledger.overrun(groups) if groups else base
            found.append(VictimOffer(tuple(sizes[slot - at.start]), price, base, slot, unit, False, groups))
    for unit, here in gangs.items():
        freed = tuple(map(sum, zip(*(sizes[slot - at.start] for slot in here), strict=True)))
        price = ledger.price(unit)
        groups = ledger.groups(ledger.breaking(unit)) if pool.limits else _NONE
        base = price - ledger.overrun(groups) if groups else price
        found.append(VictimOffer(freed, price, base, here[0], unit, True, groups))
    return found
