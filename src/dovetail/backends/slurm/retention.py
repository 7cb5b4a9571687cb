"""Removes run folders that nobody needs any more.

A run folder is also the memory that its key has run, so it goes only when the control plane has surely stored how the
attempt ended: not in the first ten minutes after the end.
"""

import contextlib
import shutil
import time
from pathlib import Path

from dovetail.backends.slurm.run_folder import END, runs

SETTLE_S = 600.0
_GONE = ".gone-"


def prune(folder: Path, keep_runs: int, keep_for_s: float, now: float) -> int:
    """Removes what has ended and is too old, or too many; returns how many went."""
    for half_removed in folder.glob(f"{_GONE}*"):
        shutil.rmtree(half_removed, ignore_errors=True)
    ended = []
    for run in runs(folder):
        with contextlib.suppress(OSError):
            ended.append(((run.path / END).stat().st_mtime, run))
    ended.sort(key=lambda pair: pair[0], reverse=True)
    removed = 0
    for rank, (at, run) in enumerate(ended):
        age_s = now - at
        if age_s >= SETTLE_S and (age_s > keep_for_s or rank >= keep_runs):
            # First a name that is no key: half a run folder must never pass for one that has not run.
            gone = folder / f"{_GONE}{run.key}-{time.monotonic_ns()}"
            with contextlib.suppress(OSError):
                run.path.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)
                removed += 1
    return removed
