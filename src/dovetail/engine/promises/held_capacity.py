"""What the reservations of one tenant keep free of one node, over time: what they hold, less what it runs there.

A tenant's running tasks count against its reservations, each task once, until they end. So room is kept for the rest
only, and for all of it again when a task has ended.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from dovetail.cluster.arrays import F8


def kept_room(
    windows: Sequence[tuple[float, float, F8]], runs: Sequence[tuple[float, F8]], now: float
) -> Iterator[tuple[float, float, F8]]:
    """(start, end, amounts) one after the other, from windows (start, end, amounts) and the ends of running tasks
    with what they take; nothing before now."""
    if len(windows) == 1 and not runs:  # by far the commonest
        start, end, column = windows[0]
        yield max(start, now), end, column
        return
    width = max(len(column) for *_, column in windows)
    cuts = {max(start, now) for start, _, _ in windows} | {end for _, end, _ in windows if end > now}
    last = max(cuts)
    cuts |= {end for end, _ in runs if now < end < last}
    for start, end in pairwise(sorted(cuts)):
        held = [column for from_, to, column in windows if from_ <= start < to]
        if not held:
            continue
        kept = _sum(held, width) - _sum([column for ends, column in runs if ends > start], width)
        kept = np.maximum(kept, 0.0)
        if kept.any():
            yield start, end, kept


def _sum(columns: Sequence[F8], width: int) -> F8:
    """Columns may be shorter or longer: resources come to be known one by one."""
    found: F8 = np.zeros(width)
    for column in columns:
        n = min(width, len(column))
        found[:n] += column[:n]
    return found
