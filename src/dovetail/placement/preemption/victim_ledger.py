"""The victims chosen so far: budgets used, gangs that lose some tasks, and gangs that are broken.

Guarantees: `total` is what the victims cost together, budgets and gangs included; `take` and `release` are inverse to
each other. A gang that loses more than it can is broken, and all its tasks are victims.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from dovetail.placement.preemption.cost import BROKEN_GANG, VIOLATION
from dovetail.placement.preemption.pool import VictimPool


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
