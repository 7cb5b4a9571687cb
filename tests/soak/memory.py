"""Whether memory grows: a line through samples of what a process holds, warm-up left out."""

from typing import NamedTuple

import numpy as np

WARM_UP = 1 / 3
"""A flood, in which everything that is kept for a while or up to a number is filled to the brim: Events of the last ten
minutes, work that ended, what pods of a template mean. What grows after that is lost."""
MOST_GROWTH_MB_PER_HOUR = 30.0
"""One that loses 150 bytes with every pod, at fifty pods a second, grows by as much."""
_HOUR_S = 3600.0


class Sample(NamedTuple):
    at_s: float
    mb: float


def growth_mb_per_hour(samples: list[Sample]) -> float:
    """Of the line that fits best after the warm-up; 0 where there is too little to say."""
    if not samples:
        return 0.0
    from_s = samples[0].at_s + (samples[-1].at_s - samples[0].at_s) * WARM_UP
    kept = np.array([one for one in samples if one.at_s >= from_s])
    if len(kept) < 3:  # any two points are a line
        return 0.0
    slope, _ = np.polyfit(kept[:, 0], kept[:, 1], 1)
    return float(slope) * _HOUR_S
