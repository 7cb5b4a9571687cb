"""Folders of runs that have ended: kept for a while, and so many of them, then removed."""

import contextlib
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

_GONE = ".gone-"
#: So long after its end nobody asks any more what became of a run.
SETTLE_S = 600.0


def remove_ended(folder: Path, ended: Iterable[tuple[float, Path]], keep: int, keep_for_s: float, now: float) -> int:
    """Of runs with the moments of their ends, those that are too old, or too many; how many went."""
    for half_removed in folder.glob(f"{_GONE}*"):
        shutil.rmtree(half_removed, ignore_errors=True)
    removed = 0
    for rank, (at, path) in enumerate(sorted(ended, key=lambda pair: pair[0], reverse=True)):
        age_s = now - at
        if age_s >= SETTLE_S and (age_s > keep_for_s or rank >= keep):
            # First a name that is no key: half a run folder must never pass for one that has not run.
            gone = folder / f"{_GONE}{path.name}-{time.monotonic_ns()}"
            with contextlib.suppress(OSError):
                path.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)
                removed += 1
    return removed
