"""Reprieving as many victims as can stay, on many nodes at once, where amounts alone decide.

Guarantees: the same answer as trying node by node (`reprieve_trials`), in one pass for each place in a node's order of
importance, over arrays of all nodes considered.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows, grown, runs
from dovetail.cluster.change_log import PLACEMENTS, RESOURCES, LogCursor
from dovetail.cluster.state import Cluster
from dovetail.model.requests.shape import Shape
from dovetail.placement.preemption.nomination import (
    ABOVE_ALL,
    Budgets,
    NominatedPlacements,
    Nomination,
    Preemptor,
    RankedNomination,
    order_of,
    with_whole_gangs,
)
from dovetail.placement.preemption.victim_table import I8, VictimTable

#: How a row's victims compare: violations, highest priority, sum of priorities, how many, minus the latest start.
MEASURES = 5
#: How many pairs of shape and priority are cached.
KEPT = 8
#: This many nodes with tasks of gangs are enough to choose from.
ENOUGH_WITH_GANGS = 100


class Reprieved(NamedTuple):
    """Rows on which preemption helps, in order; `measures` is float64[measure, row], lower is better. The victims of
    the i-th row are `slots[starts[i]:starts[i + 1]]`."""

    rows: I8
    measures: F8
    slots: I8
    starts: I8


def reprieve(victim_table: VictimTable, pod: Preemptor, rows: Rows, broken: Sequence[int] = ()) -> Reprieved | None:
    """The victims on each of these rows that make room for the pod; None if preemption helps on none. `broken`: gangs
    that go in any case."""
    arrays, request = victim_table.arrays, pod.request
    needed = np.flatnonzero(request.column > 0)
    need = request.column[needed, None]
    slots = _slots(victim_table, rows)
    slots = slots[arrays.preemptible[slots] & (arrays.priority[slots] < pod.priority)]
    if pod.gangs is not None and len(pod.gangs.spared):
        slots = slots[~np.isin(slots, pod.gangs.spared)]
    if not len(slots):
        return None
    free = _free(victim_table, pod, rows, needed)
    amounts = victim_table.amounts[needed[:, None], slots]
    at = np.searchsorted(rows, arrays.row[slots])  # rows are in order
    most = free + np.array([np.bincount(at, each, len(rows)) for each in amounts])
    here = (most >= need).all(axis=0)[at]
    slots, at, amounts = slots[here], at[here], amounts[:, here]
    if not len(slots):
        return None
    over = _overrun(victim_table, slots, at, pod.budgets)
    order = np.lexsort((slots, arrays.since[slots], -arrays.priority[slots], ~over, at))
    slots, at, amounts, over = slots[order], at[order], amounts[:, order], over[order]
    victims = _not_reprieved(at, amounts, most, need, np.isin(arrays.unit[slots], broken) if broken else None)
    if not victims.any():
        return None
    return _measured(victim_table, rows, slots[victims], at[victims], over[victims])


def ranked_nomination(victim_table: VictimTable, found: Reprieved, i: int) -> RankedNomination:
    """The i-th row with its victims."""
    arrays = victim_table.arrays
    end = found.starts[i + 1] if i + 1 < len(found.starts) else len(found.slots)
    slots = found.slots[found.starts[i] : end]
    slots = slots[np.lexsort((slots, arrays.since[slots], -arrays.priority[slots]))]
    row, violations = int(found.rows[i]), int(found.measures[0, i])
    victims = tuple([victim_table.task(slot) for slot in slots.tolist()])
    order = order_of(row, violations, arrays.priority[slots].tolist(), arrays.since[slots].tolist())
    return RankedNomination(order, Nomination(row, victims, violations))


def _slots(victim_table: VictimTable, rows: Rows) -> I8:
    """The slots of all tasks on these rows."""
    lengths = victim_table.lengths[rows]
    before = np.cumsum(lengths) - lengths
    found: I8 = np.arange(int(lengths.sum())) + np.repeat(victim_table.first[rows] - before, lengths)
    return found


def _free(victim_table: VictimTable, pod: Preemptor, rows: Rows, needed: Rows) -> F8:
    """float64[needed resource, row]: what is neither allocated nor promised."""
    request, coming = pod.request, pod.coming
    free: F8 = victim_table.cluster.resources.free[needed[:, None], rows]
    if request.promised is not None:
        left = np.full((len(needed), victim_table.cluster.width), np.inf)
        left[:, request.promised.rows] = request.promised.room[needed]
        free = np.minimum(free, left[:, rows])
    if not coming.rows:
        return free
    for place, row in enumerate(rows.tolist()):
        for placement in coming.on(row).values():
            free[:, place] -= grown(placement.column, len(request.column))[needed]
    return free


def _overrun(victim_table: VictimTable, slots: I8, at: I8, budgets: Budgets) -> B1:
    """For each slot, whether a budget is overrun if all less urgent tasks of its node are evicted."""
    found = np.zeros(len(slots), dtype=np.bool_)
    by_task = victim_table.cluster.placements.by_task
    tasks = {slot: victim_table.task(slot) for slot in slots.tolist()} if budgets.any else {}
    concerned = {slot for slot, task in tasks.items() if budgets.of(by_task[task].identity)}
    if not concerned:
        return found
    arrays = victim_table.arrays
    order = np.lexsort((slots, arrays.since[slots], -arrays.priority[slots], at))
    starts, _ = runs(at[order])
    for places in np.split(order, starts[1:]):
        each = slots[places].tolist()
        if concerned.intersection(each):
            found[places] = budgets.overrun([(tasks[slot], by_task[tasks[slot]].identity) for slot in each])
    return found


def _not_reprieved(at: I8, amounts: F8, most: F8, need: F8, goes: B1 | None) -> B1:
    """By place, in order within each row: tasks that stay victims. `most` is what is free with all of them gone;
    `goes`: who is not reprieved in any case."""
    room = most.copy()
    starts, lengths = runs(at)
    gone = np.zeros(len(at), dtype=np.bool_)
    for step in range(int(lengths.max())):
        places = starts[lengths > step] + step
        here = at[places]
        left = room[:, here] - amounts[:, places]
        stays = (left >= need).all(axis=0)
        if goes is not None:
            stays &= ~goes[places]
        room[:, here[stays]] = left[:, stays]
        gone[places] = ~stays
    return gone


def _measured(victim_table: VictimTable, rows: Rows, slots: I8, at: I8, over: B1) -> Reprieved:
    arrays = victim_table.arrays
    starts, counts = runs(at)
    priority = arrays.priority[slots]
    highest = np.maximum.reduceat(priority, starts)
    measures = np.empty((MEASURES, len(starts)))
    measures[0] = np.add.reduceat(over.astype(np.int64), starts)
    measures[1] = highest
    measures[2] = np.add.reduceat(priority, starts) + counts * ABOVE_ALL
    measures[3] = counts
    urgent = np.where(priority == np.repeat(highest, counts), arrays.since[slots], np.inf)
    measures[4] = -np.minimum.reduceat(urgent, starts)
    return Reprieved(rows[at[starts]], measures, slots, starts)


class _Kept:
    """`measures`: float64[measure, row], infinite where preemption does not help."""

    def __init__(self, cluster: Cluster, width: int) -> None:
        self.measures: F8 = np.full((MEASURES, width), np.inf)
        self.looked_at: B1 = np.zeros(width, dtype=np.bool_)
        self.coming, self.seen_coming = NominatedPlacements(), 0
        self.log = LogCursor(cluster, (PLACEMENTS, RESOURCES))


class ReprieveCache:
    """The victims on each node for a pod of one shape and priority; keep one beside each `VictimTable`. A hundred pods
    of one template that meet a full cluster ask the same again and again; only rows that have changed since are
    computed again. Nothing is kept where disruption budgets or promises have a say, which change without any row doing
    so."""

    def __init__(self, victim_table: VictimTable) -> None:
        self._victim_table = victim_table
        self._kept: dict[tuple[Shape, int], _Kept] = {}  # by shape and priority

    def best(self, pod: Preemptor, candidates: B1) -> RankedNomination | None:
        """The best of the candidate rows; None if preemption helps on none. The victim table must be up to date."""
        rows = np.flatnonzero(candidates)
        spares = pod.gangs is not None and len(pod.gangs.spared) > 0
        if pod.budgets.any or pod.request.promised is not None or spares:
            found = reprieve(self._victim_table, pod, rows)
            return None if found is None else self._best(pod, found.rows, found.measures)
        kept = self._of((pod.request.shape, pod.priority), len(candidates))
        self._refresh(kept, pod, candidates)
        measures = kept.measures[:, rows]
        helps = np.flatnonzero(np.isfinite(measures[0]))
        return self._best(pod, rows[helps], measures[:, helps]) if len(helps) else None

    def _best(self, pod: Preemptor, rows: Rows, measures: F8) -> RankedNomination | None:
        """Of rows on which preemption helps, by their own victims; those that go with their gang come on top."""
        if pod.gangs is None or not pod.gangs.any:
            return self._on(pod, int(rows[_first(measures)]))
        best: RankedNomination | None = None
        for place in np.lexsort((rows, *measures[::-1]))[:ENOUGH_WITH_GANGS].tolist():
            row = int(rows[place])
            if best is not None and (*measures[:, place].tolist(), row) >= best.order:
                break
            found = with_whole_gangs(pod, self._victim_table.cluster.placements, partial(self._on, pod, row))
            best = found if best is None or found is None else min(best, found)
        return best

    def _on(self, pod: Preemptor, row: int, broken: Sequence[int] = ()) -> RankedNomination:
        found = reprieve(self._victim_table, pod, np.array([row], dtype=np.intp), broken)
        assert found is not None, "what is kept of a row is not true any more"
        return ranked_nomination(self._victim_table, found, 0)

    def _of(self, asked: tuple[Shape, int], width: int) -> _Kept:
        found = self._kept.pop(asked, None)
        if found is None or len(found.looked_at) != width:
            found = _Kept(self._victim_table.cluster, width)
        self._kept[asked] = found  # the last is the one that was asked for last
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def _refresh(self, kept: _Kept, pod: Preemptor, candidates: B1) -> None:
        rows = self._changed(kept, candidates, pod.coming)
        if not len(rows):
            return
        kept.measures[:, rows] = np.inf
        kept.looked_at[rows] = True
        found = reprieve(self._victim_table, pod, rows)
        if found is not None:
            kept.measures[:, found.rows] = found.measures

    def _changed(self, kept: _Kept, candidates: B1, coming: NominatedPlacements) -> Rows:
        """Candidates that have changed since they were computed."""
        if kept.log.is_lost:
            kept.looked_at[:] = False
            kept.log.skip()
        for rows in kept.log.changed().values():
            kept.looked_at[list(rows)] = False
        kept.looked_at[kept.coming.log[kept.seen_coming :]] = False
        if coming is not kept.coming:
            kept.looked_at[[*kept.coming.rows, *coming.rows]] = False
        kept.coming, kept.seen_coming = coming, len(coming.log)
        return np.flatnonzero(candidates & ~kept.looked_at)


def _first(measures: F8) -> int:
    """The place that compares best; of equal ones the first."""
    best = np.arange(measures.shape[1])
    for values in measures:
        here = values[best]
        best = best[here == here.min()]
    return int(best[0])
