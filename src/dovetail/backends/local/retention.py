"""Lists run folders and removes those that `backends.retention` no longer keeps.

Nothing is removed in the first ten minutes after the backend starts: commands from before may still be repeated.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.supervisor import CLAIM, RESULT
from dovetail.backends.retention import remove_ended


def prune(folder: Path, keep_runs: int, keep_for_s: float, now: float, watched: Callable[[str], bool]) -> int:
    """Remove finished run folders that are too old or too many; returns how many were removed."""
    ended_at = {run.path: at for run in runs(folder) if not watched(run.key) and (at := _ended_at(run)) is not None}
    return remove_ended(folder, ended_at, keep_runs, keep_for_s, now)


def runs(folder: Path) -> list[LocalRunFolder]:
    found = []
    for path in folder.iterdir():
        with contextlib.suppress(ValueError):
            found.append(LocalRunFolder(folder, path.name))
    return found


def unfinished(folder: Path) -> list[LocalRunFolder]:
    """Run folders with a supervisor and without a result. After a restart the backend watches them."""
    running = (RunPhase.CLAIMED, RunPhase.RUNNING, RunPhase.LOST)
    return [run for run in runs(folder) if not (run.path / RESULT).exists() and run.look().phase in running]


def _ended_at(run: LocalRunFolder) -> float | None:
    for name in (RESULT, CLAIM):
        with contextlib.suppress(FileNotFoundError):
            at = (run.path / name).stat().st_mtime
            return at if name == RESULT or run.look().refused else None
    return None
