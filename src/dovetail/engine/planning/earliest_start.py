"""The earliest moment at which enough running tasks have ended for a number of new tasks to fit at once.

Guarantees: it is the earliest, if tasks end as expected and nothing else starts. Tasks without an expected end stay.
Left to others: promises to other work. The caller rehearses the answer.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.task import TaskId
from dovetail.placement.preemption.victim_table import I8


@dataclass(frozen=True, slots=True)
class EarliestStart:
    """`here`: tasks that will have ended on the rows that are needed."""

    at: float
    here: tuple[TaskId, ...]


def soonest(state: EngineState, places: B1, column: F8, count: int, now: float) -> EarliestStart | None:
    """On rows of `places`; None if too few tasks have a known end, or none has to end."""
    needed = np.flatnonzero(column)
    wants = column[needed, None]
    free = state.cluster.resources.free[needed, : state.cluster.width]
    ending = _Ending(state, _worth_it(state, places, needed, wants))

    def after(number: int) -> F8:
        """Copies by row when so many have ended."""
        return _copies(free + ending.freed(needed, number, free.shape[1]), wants, places)

    number = bisect_left(range(len(ending.times) + 1), count, key=lambda number: after(number).sum())
    if not 0 < number <= len(ending.times):
        return None
    at = float(ending.times[number - 1])
    last = int(np.searchsorted(ending.times, at, side="right"))
    copies, before = after(last), after(0)
    order = np.argsort(before - copies, kind="stable")
    reached = before.sum() + np.cumsum((copies - before)[order])
    rows = order[: int(np.searchsorted(reached, count)) + 1]
    return EarliestStart(max(at, now), tuple(ending.on(rows, last)))


class _Ending:
    """Tasks on some rows that are expected to end, by when."""

    def __init__(self, state: EngineState, rows: B1) -> None:
        table = state.victim_table
        table.refresh()
        slots = np.flatnonzero(table.arrays.placed & rows[table.arrays.row])
        at = state.ends.at
        tasks = map(TaskId, table.arrays.workload[slots].tolist(), table.arrays.replica[slots].tolist())
        times = np.array([at(task) for task in tasks], dtype=np.float64)  # None becomes NaN
        known = np.flatnonzero(~np.isnan(times))
        order = known[np.argsort(times[known], kind="stable")]
        self.times: F8 = times[order]
        self._table, self._slots = table, slots[order]
        self._rows: I8 = table.arrays.row[self._slots]

    def freed(self, resources: I8, number: int, width: int) -> F8:
        """float64[resource, row]: what the first so many will give back."""
        rows, slots = self._rows[:number], self._slots[:number]
        return np.array([np.bincount(rows, self._table.amounts[i, slots], width) for i in resources.tolist()])

    def on(self, rows: I8, number: int) -> list[TaskId]:
        return [self._table.task(slot) for slot in self._slots[:number][np.isin(self._rows[:number], rows)].tolist()]


def _worth_it(state: EngineState, places: B1, needed: I8, wants: F8) -> B1:
    """Rows that fit one task when they are empty."""
    tables, n = state.cluster.resources, state.cluster.width
    most = tables.schedulable[needed, :n] - tables.reserved[needed, :n]
    found: B1 = places & (most >= wants).all(axis=0)
    return found


def _copies(free: F8, wants: F8, places: B1) -> F8:
    found: F8 = np.where(places, np.floor(np.maximum(free, 0.0) / wants).min(axis=0), 0.0)
    return found
