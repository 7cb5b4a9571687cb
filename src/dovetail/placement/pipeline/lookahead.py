"""Lookahead for the ranking cache: a short sorted list of the best rows, and what each becomes with more copies.

It pays while one shape is placed again and again: taking the best row and sorting it in again costs no array operation.
The owner of the totals reports every row that changes.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8, Rows
from dovetail.placement.pipeline.evaluation import LOST

TOP_K = 128


@dataclass(slots=True)
class Lookahead:
    """One row as it would be after `step` more copies; step 0 is how it was when this was made."""

    totals: list[float]
    points: F8  # float64[score, step]
    masks: npt.NDArray[np.bool_]  # bool[filter, step]
    step: int = 0


class TopK:
    """The first TOP_K rows by (total, then lower row). Rows that sort after `_bound` are not listed; `_left_out` counts
    them."""

    def __init__(self, total: F8) -> None:
        feasible = np.flatnonzero(total > LOST)
        self.rows: Rows = _first(feasible, total[feasible])
        self._sorted = sorted(zip((-total[self.rows]).tolist(), self.rows.tolist(), strict=True))
        self._left_out = len(feasible) - len(self.rows)
        self._bound = self._sorted[-1] if self._left_out else (np.inf, 0)
        self.lookaheads: dict[int, Lookahead] = {}

    def top(self, count: int) -> list[int] | None:
        """The best rows, best first; None when the list is too short to tell."""
        if len(self._sorted) < count and self._left_out:
            return None
        return [row for _, row in self._sorted[:count]]

    def changed(self, row: int, before: float, after: float) -> None:
        if before != LOST:
            key = (-before, row)
            if key <= self._bound:
                del self._sorted[bisect_left(self._sorted, key)]
            else:
                self._left_out -= 1
        if after != LOST:
            key = (-after, row)
            if key <= self._bound:
                insort(self._sorted, key)
            else:
                self._left_out += 1


def _first(rows: Rows, totals: F8) -> Rows:
    """The best rows, equal totals in order of row; in no particular order."""
    if len(rows) <= TOP_K:
        return rows
    threshold = np.partition(totals, len(totals) - TOP_K)[len(totals) - TOP_K]
    above = rows[totals > threshold]
    return np.concatenate([above, rows[totals == threshold][: TOP_K - len(above)]])
