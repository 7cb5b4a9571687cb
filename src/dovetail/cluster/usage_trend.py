"""The trend of measured use of each node, and what it will be in a while: Holt's linear method over the measurements.

    level, slope  float64[resource, node]: smoothed use, and its change per second; new resources may be missing
    at            float64[node]: time of the last measurement
    count         int32[node]: number of measurements

Smoothing follows the time between measurements, not their number, so a node that reports twice as often gets the same
forecast. A slope starts at 0 and must persist for some minutes: a jump between the first two reports of a node says
little. Not remembered over a restart.
"""

import math

import numpy as np

from dovetail.cluster.arrays import F8, FIRST_CAPACITY, I4, grown

AHEAD_S = 15 * 60.0
LEVEL_S = 60.0  # use is smoothed over about a minute
SLOPE_S = 5 * 60.0  # and its slope over about five
LEAST_MEASUREMENTS = 3


class UsageTrend:
    """Written by `Cluster` only."""

    def __init__(self) -> None:
        self.level: F8 = np.zeros((0, FIRST_CAPACITY))
        self.slope: F8 = np.zeros((0, FIRST_CAPACITY))
        self.at: F8 = np.zeros(FIRST_CAPACITY)
        self.count: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)

    def widen(self, width: int) -> None:
        for name in ("level", "slope", "at", "count"):
            setattr(self, name, grown(getattr(self, name), width))

    def clear(self, node: int) -> None:
        self.level[:, node] = self.slope[:, node] = 0.0
        self.at[node] = self.count[node] = 0

    def observe(self, node: int, used: F8, now: float) -> None:
        """`used` is a column of the resource table."""
        self._add_rows(len(used))
        elapsed_s = now - self.at[node]
        if not self.count[node] or elapsed_s <= 0:
            self.level[:, node] = used
        else:
            before = self.level[:, node]
            nearer, steeper = 1.0 - math.exp(-elapsed_s / LEVEL_S), 1.0 - math.exp(-elapsed_s / SLOPE_S)
            expected = before + self.slope[:, node] * elapsed_s
            level = expected + nearer * (used - expected)
            self.slope[:, node] += steeper * ((level - before) / elapsed_s - self.slope[:, node])
            self.level[:, node] = level
        self.at[node] = now
        self.count[node] += 1

    def forecast(self, resource: int, observed: F8, capacity: F8) -> F8:
        """float64[node]: use about fifteen minutes after the last measurement, within what the node has."""
        if resource >= len(self.level):
            return observed
        ahead = np.clip(self.level[resource] + AHEAD_S * self.slope[resource], 0.0, capacity)
        return np.where(self.count >= LEAST_MEASUREMENTS, ahead, observed)

    def _add_rows(self, rows: int) -> None:
        missing = rows - len(self.level)
        if missing > 0:
            more = np.zeros((missing, self.level.shape[1]))
            self.level = np.vstack([self.level, more])
            self.slope = np.vstack([self.slope, more])
