"""Removes run folders that nobody needs any more.

A run folder is also the memory that its key has run, so it goes only when the control plane has surely stored how the
attempt ended: not in the first ten minutes after the end, and not in the first ten after a start of the backend, when
commands from before are still being repeated (the backend waits that long before the first call).
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

from dovetail.backends.ended_runs import remove_ended
from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.supervisor import CLAIM, RESULT
from dovetail.backends.retention import SETTLE_S
from dovetail.model.command import task_of_key

__all__ = ["SETTLE_S", "prune", "runs", "unfinished"]


def prune(folder: Path, keep_runs: int, keep_for_s: float, now: float, watched: Callable[[str], bool]) -> int:
    """Removes what is finished and too old, or too many; returns how many went."""
    ended_at = {run.path: at for run in runs(folder) if not watched(run.key) and (at := _ended_at(run)) is not None}
    return remove_ended(folder, ended_at, keep_runs, keep_for_s, now)


def runs(folder: Path) -> list[LocalRunFolder]:
    found = []
    for path in folder.iterdir():
        with contextlib.suppress(ValueError):
            task_of_key(path.name)
            found.append(LocalRunFolder(folder, path.name))
    return found


def unfinished(folder: Path) -> list[LocalRunFolder]:
    """Those with a supervisor but without a result: to be watched after a restart."""
    running = (RunPhase.CLAIMED, RunPhase.RUNNING, RunPhase.LOST)
    return [run for run in runs(folder) if not (run.path / RESULT).exists() and run.look().phase in running]


def _ended_at(run: LocalRunFolder) -> float | None:
    for name in (RESULT, CLAIM):
        with contextlib.suppress(FileNotFoundError):
            at = (run.path / name).stat().st_mtime
            return at if name == RESULT or run.look().refused else None
    return None
