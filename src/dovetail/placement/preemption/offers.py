"""The possible victims of one node with their prices: single tasks, and gangs as a whole.

Guarantees: an offer's `weight` is what it costs if taken alone, on top of what the ledger holds already; taken with
others it never costs less. Offers come in a fixed order, by task.
Leaves to others: which to take (`row`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dovetail.placement.preemption.cost import BROKEN_GANG
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.victim_ledger import VictimLedger

_NONE: Mapping[int, int] = {}


@dataclass(slots=True, eq=False)
class Offer:
    """`unit` is the gang of the tasks, or -1; `breaks`: the whole gang is evicted."""

    sizes: tuple[int, ...]  # by needed resource: what it frees on this node
    weight: int
    base: int  # the weight without what it costs in budgets
    slot: int  # the task, or the first of the gang on this node
    unit: int
    breaks: bool
    groups: Mapping[int, int]  # victims by group, where a group has a budget

    def like(self, other: "Offer") -> bool:
        """The two are interchangeable, whatever else is chosen."""
        return (
            self.sizes == other.sizes
            and self.weight == other.weight
            and self.unit == other.unit
            and not self.breaks
            and not other.breaks
            and self.groups == other.groups
        )


def offers_of(pool: VictimPool, ledger: VictimLedger, row: int, below: int | None = None) -> list[Offer]:
    """Those that cost less than `below`, as far as a quick check tells."""
    unbroken = below is not None and below <= BROKEN_GANG
    at = pool.table.slots(row)
    slots = (np.flatnonzero(pool.takeable[at]) + at.start).tolist()
    sizes = pool.sizes(at).T.astype(np.int64).tolist()
    found: list[Offer] = []
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
            found.append(Offer(tuple(sizes[slot - at.start]), price, base, slot, unit, False, groups))
    for unit, here in gangs.items():
        freed = tuple(map(sum, zip(*(sizes[slot - at.start] for slot in here), strict=True)))
        price = ledger.price(unit)
        groups = ledger.groups(ledger.breaking(unit)) if pool.limits else _NONE
        base = price - ledger.overrun(groups) if groups else price
        found.append(Offer(freed, price, base, here[0], unit, True, groups))
    return found
