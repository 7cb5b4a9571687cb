"""What one tenant's reservations hold of one node over time: the reserved amounts minus what the tenant runs there.

A tenant's running task uses its reservations, once, until it ends. Only the rest has to stay free; when the task has
ended, all of it again.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from dovetail.cluster.arrays import F8


def held_capacity(
    windows: Sequence[tuple[float, float, F8]], runs: Sequence[tuple[float, F8]], now: float
) -> Iterator[tuple[float, float, F8]]:
    """Yield (start, end, amounts) in order of time, none before now. `windows`: (start, end, amounts) reserved;
    `runs`: (end, amounts) of the tenant's running tasks."""
    if len(windows) == 1 and not runs:  # the usual case
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
    """Columns may differ in length: resources are added to the table while the engine runs."""
    found: F8 = np.zeros(width)
    for column in columns:
        n = min(width, len(column))
        found[:n] += column[:n]
    return found
