"""Removes run folders that nobody needs any more.

A run folder is also the memory that its key has run, so it goes only when the control plane has surely stored how the
attempt ended: not in the first ten minutes after the end.
"""

import contextlib
from pathlib import Path

from dovetail.backends.ended_runs import SETTLE_S, remove_ended
from dovetail.backends.slurm.run_folder import END, runs

__all__ = ["SETTLE_S", "prune"]


def prune(folder: Path, keep_runs: int, keep_for_s: float, now: float) -> int:
    """Removes what has ended and is too old, or too many; returns how many went."""
    ended = []
    for run in runs(folder):
        with contextlib.suppress(OSError):
            ended.append(((run.path / END).stat().st_mtime, run.path))
    return remove_ended(folder, ended, keep_runs, keep_for_s, now)
