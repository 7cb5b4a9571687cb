"""Removes run folders that nobody needs any more.

A run folder is also the memory that its key has run, so it goes only when the control plane has surely stored how the
attempt ended: not in the first ten minutes after the end.
"""

import contextlib
from pathlib import Path

from dovetail.backends.ended_runs import remove_ended
from dovetail.backends.retention import SETTLE_S
from dovetail.backends.slurm.run_folder import END, runs

__all__ = ["SETTLE_S", "prune"]


def prune(folder: Path, keep_runs: int, keep_for_s: float, now: float) -> int:
    """Removes what has ended and is too old, or too many; returns how many went."""
    ended_at = {}
    for run in runs(folder):
        with contextlib.suppress(OSError):
            ended_at[run.path] = (run.path / END).stat().st_mtime
    return remove_ended(folder, ended_at, keep_runs, keep_for_s, now)
