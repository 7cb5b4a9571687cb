"""How tasks ended on each node by themselves, and how fast they ran there.

    succeeded, failed      float64[node]: tasks that ended well and badly
    pace_sum, pace_weight  float64[node]: of a mean over its tasks of how many times as long as usual each took; the
                           latest count most

In no column group: a result that is kept must not read them, or look at `changes`. Not for trials: nothing undoes them.
"""

import numpy as np

from dovetail.cluster.arrays import F8, FIRST_CAPACITY, grown
from dovetail.model.record import Outcomes

PACE_KEPT = 0.9
"""The weight that earlier values keep: about the last ten tasks of a node tell how fast it is."""

_COLUMNS = ("succeeded", "failed", "pace_sum", "pace_weight")


class TaskEnds:
    def __init__(self) -> None:
        self.succeeded: F8 = np.zeros(FIRST_CAPACITY)
        self.failed: F8 = np.zeros(FIRST_CAPACITY)
        self.pace_sum: F8 = np.zeros(FIRST_CAPACITY)
        self.pace_weight: F8 = np.zeros(FIRST_CAPACITY)
        self.changes = 0  # how often any of these changed

    def widen(self, width: int) -> None:
        for name in _COLUMNS:
            setattr(self, name, grown(getattr(self, name), width))

    def clear(self, row: int) -> None:
        """The node left."""
        self.succeeded[row] = self.failed[row] = self.pace_sum[row] = self.pace_weight[row] = 0.0

    def count(self, row: int, ok: bool) -> None:
        """A task ended there by itself, well or badly."""
        (self.succeeded if ok else self.failed)[row] += 1
        self.changes += 1

    def note_pace(self, row: int, slowdown: float) -> None:
        """A task there took `slowdown` times as long as usual. Earlier values count a little less each time."""
        self.pace_sum[row] = self.pace_sum[row] * PACE_KEPT + slowdown
        self.pace_weight[row] = self.pace_weight[row] * PACE_KEPT + 1.0
        self.changes += 1

    def restore(self, row: int, outcomes: Outcomes) -> None:
        """As it was before a restart."""
        self.succeeded[row], self.failed[row], self.pace_sum[row], self.pace_weight[row] = outcomes
        self.changes += 1

    def of(self, row: int) -> Outcomes:
        paces = float(self.pace_sum[row]), float(self.pace_weight[row])
        return Outcomes(int(self.succeeded[row]), int(self.failed[row]), *paces)
