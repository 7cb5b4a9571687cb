"""Improving an answer for several tasks: what if this gang, or these victims of one node, were spared?

One part of the answer after the other, the most expensive first, is spared and excluded, and replaced elsewhere. If the
result is cheaper, it becomes the answer.
Guarantees: never more expensive than before, and no needless victim. The number of tries follows from the problem size.
"""

from collections.abc import Iterator

from dovetail.placement.preemption.gang import GangSearch
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.trim import Trimmer
from dovetail.placement.preemption.victim_ledger import VictimLedger
from dovetail.placement.preemption.victim_table import I8

#: The budget of all tries: one costs about the number of nodes and takeable tasks, plus twenty for each victim.
EFFORT = 24_000
MOST_TRIES = 32


def improved(pool: VictimPool, ledger: VictimLedger, free: I8, count: int) -> VictimLedger:
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
