"""Lower bounds of what making room costs, for all nodes at once.

A *head* is what weighs more than lost work (budgets, gangs, victims too soon) as one whole number, for a task taken
alone. The head of a set of victims is not below that of its most expensive task, so nodes are searched class by class,
and within a class by the least work that can be lost.
Guarantees: no set of victims on a node costs less than `least` of the class the node is found in.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows, runs
from dovetail.placement.preemption.cost import BROKEN_GANG, LOST_SECOND, TOO_SOON, VICTIM, VIOLATION
from dovetail.placement.preemption.pool import VictimPool
from dovetail.placement.preemption.victim_table import I8

_DIGITS = 20
_DIGIT_MASK = (1 << _DIGITS) - 1


class PriorityClass(NamedTuple):
    """Rows where the victims' head is at least this, with the least work lost and the fewest victims."""

    head: int
    rows: Rows
    lost_s: F8
    victims: F8


def least(head: int, lost_s: float = 0, victims: float = 1) -> int:
    """The least price of a class with so much work lost and so many victims."""
    counts = (head >> 2 * _DIGITS) * VIOLATION + (head >> _DIGITS & _DIGIT_MASK) * BROKEN_GANG
    return counts + (head & _DIGIT_MASK) * TOO_SOON + int(lost_s) * LOST_SECOND + int(victims) * VICTIM


def heads(pool: VictimPool) -> I8:
    """By place."""
    spent = [group for group, left in pool.limits.items() if left <= 0 <= group]
    found = pool.too_soon.astype(np.int64)
    found += np.isin(pool.table.arrays.group[pool.slots], spent).astype(np.int64) << 2 * _DIGITS
    alone: B1 = np.zeros(len(pool.table.unit_codes) + 1, dtype=np.bool_)
    alone[[*pool.slack, -1]] = True  # the last one is for those who are in no gang
    tied = np.flatnonzero(~alone[pool.units])
    if len(tied):
        units = pool.units[tied]
        found[tied] += _soon_in(pool, units)[units] + (1 << _DIGITS) - pool.too_soon[tied]
    return found


def _soon_in(pool: VictimPool, units: I8) -> I8:
    """By gang: how many of its tasks have not had their least run time."""
    asked: B1 = np.zeros(len(pool.table.unit_codes), dtype=np.bool_)
    asked[units] = True
    members = np.flatnonzero(asked[pool.ganged_units])
    _, too_soon = pool.losses(pool.ganged[members])
    return np.bincount(pool.ganged_units[members], too_soon).astype(np.int64)


def classes(
    pool: VictimPool, room: F8, wanted: I8, worth: Callable[[int], bool], few: int = 0
) -> Iterator[PriorityClass]:
    """Rows that can be cleared for as many tasks as wanted, cheapest class first, as long as a head is worth it.

    With `few`, only rows that could hold the cheapest victims of a class, and so many of them with a tight bound; else
    all rows, with tight bounds."""
    waiting = pool.holds(pool.most, wanted)
    places = np.flatnonzero(pool.takeable[pool.slots] & waiting[pool.rows])
    of_places = heads(pool)[places]
    missing = np.array(pool.column, dtype=np.float64)[:, None] * wanted - room
    head = -1
    while waiting.any():
        later = of_places[of_places > head]
        if not len(later) or not worth(int(later.min())):
            return
        head = int(later.min())
        room = room + pool.freed_by(places[of_places == head])
        here = waiting & pool.holds(room, wanted)
        if not here.any():
            continue
        waiting = waiting & ~here
        among = places[(of_places <= head) & here[pool.rows[places]]]
        found = np.flatnonzero(here)
        if few and not head >> _DIGITS & _DIGIT_MASK:
            among, found = _contenders(pool, among, missing, found)
        yield PriorityClass(head, found, *_least(pool, among, missing[:, found], found, few or len(found)))


def _contenders(pool: VictimPool, places: I8, missing: F8, found: Rows) -> tuple[I8, Rows]:
    """Where evicting one task is enough, drop all tasks that lose more, and rows that are left without any."""
    enough = places
    for amounts, need in zip(pool.amounts, missing, strict=True):
        enough = enough[amounts[enough] >= need[pool.rows[enough]]]
    if not len(enough):
        return places, found
    places = places[pool.lost_s[places] <= pool.lost_s[enough].min()]
    return places, np.unique(pool.rows[places])


def _least(pool: VictimPool, places: I8, missing: F8, found: Rows, few: int) -> tuple[F8, F8]:
    """For each row found, the least work lost and the fewest victims: roughly, and closer for the most promising.

    `missing` is by needed resource and row found."""
    lost_s, victims = np.zeros(len(found)), np.ones(len(found))
    short = np.flatnonzero((missing > 0).any(axis=1)).tolist()
    rows = np.searchsorted(found, pool.rows[places])
    if len(found) > few:
        for k in short:
            rough_s = _by_best_rate(rows, pool.lost_s[places], pool.amounts[k][places], missing[k])
            lost_s = np.maximum(lost_s, rough_s)
        close: B1 = np.zeros(len(found), dtype=np.bool_)
        close[np.argpartition(lost_s, few)[:few]] = True
        within = close[rows]
        places, rows = places[within], rows[within]
    for k in short:
        closer_s, fewest = _by_parts(rows, pool.lost_s[places], pool.amounts[k][places], missing[k])
        lost_s, victims = np.maximum(lost_s, closer_s), np.maximum(victims, fewest)
    # Whole seconds: a fraction more is a second more; the last bits of a quotient are not to be trusted.
    return np.ceil(lost_s * (1 - 1e-12) - 1e-6), np.ceil(victims - 1e-6)


def _by_best_rate(rows: I8, lost_s: F8, size: F8, need: F8) -> F8:
    """By row: the least work lost if everything missing were freed at the lowest rate on that row."""
    needed = need[rows]
    useful = (needed > 0) & (size > 0)
    needed = needed[useful]
    lowest = np.full(len(need), np.inf)
    np.minimum.at(lowest, rows[useful], lost_s[useful] * needed / np.minimum(size[useful], needed))
    return np.where(np.isfinite(lowest), lowest, 0.0)


def _by_parts(rows: I8, lost_s: F8, size: F8, need: F8) -> tuple[F8, F8]:
    """By row: the least work lost if tasks could be evicted in part, and how many tasks of the largest size it is."""
    useful = (need[rows] > 0) & (size > 0)
    rows, lost_s, size = rows[useful], lost_s[useful], size[useful]
    needed = need[rows]
    size = np.minimum(size, needed)
    order = np.lexsort((lost_s / size, rows))
    rows, lost_s, size, needed = rows[order], lost_s[order], size[order], needed[order]
    before = np.cumsum(size) - size
    starts, lengths = runs(rows)
    before -= np.repeat(before[starts], lengths)
    part = np.clip((needed - before) / size, 0.0, 1.0)
    largest = np.full(len(need), 0.0)
    np.maximum.at(largest, rows, size)
    fewest = np.where(largest > 0, need / np.where(largest > 0, largest, 1.0), 1.0)
    least_s: F8 = np.bincount(rows, lost_s * part, len(need)).astype(np.float64)
    return least_s, fewest
