"""Removes the folders of runs that have ended; `retention` says which."""

import contextlib
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from dovetail.backends.retention import to_remove

_GONE = ".gone-"


def remove_ended(folder: Path, ended_at: Mapping[Path, float], keep: int, keep_for_s: float, now: float) -> int:
    """Of run folders in `folder`, with the moments of their ends; how many went."""
    for half_removed in folder.glob(f"{_GONE}*"):
        shutil.rmtree(half_removed, ignore_errors=True)
    removed = 0
    for path in to_remove(ended_at, keep, keep_for_s, now):
        # First a name that is no key: half a run folder must never pass for one that has not run.
        gone = folder / f"{_GONE}{path.name}-{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
            removed += 1
    return removed
