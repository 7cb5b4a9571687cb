"""Removes runs that have ended: the oldest ones, and never one that ended a short time ago.

A run folder or container also records that its key has run. It is removed only when the control plane has surely stored
how the attempt ended, which is why a run stays for `SETTLE_S` after its end.
"""

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TypeVar

SETTLE_S = 600.0
_REMOVED = ".gone-"
_Run = TypeVar("_Run", bound=Hashable)
_log = logging.getLogger(__name__)


def to_remove(ended_at: Mapping[_Run, float], keep: int, keep_for_s: float, now: float) -> list[_Run]:
    """The runs that are too old or too many, newest first. `ended_at`: when each run ended."""
    newest = sorted(ended_at, key=lambda run: -ended_at[run])
    return [
        run
        for place, run in enumerate(newest)
        if now - ended_at[run] >= SETTLE_S and (place >= keep or now - ended_at[run] > keep_for_s)
    ]


def remove_ended(folder: Path, ended_at: Mapping[Path, float], keep: int, keep_for_s: float, now: float) -> int:
    """Remove run folders in `folder`; returns how many were removed."""
    for half_removed in folder.glob(f"{_REMOVED}*"):
        shutil.rmtree(half_removed, ignore_errors=True)
    removed = 0
    for path in to_remove(ended_at, keep, keep_for_s, now):
        # Rename it first: a run folder that is only half removed would look like one that has not run.
        renamed = folder / f"{_REMOVED}{path.name}-{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            path.rename(renamed)
            shutil.rmtree(renamed, ignore_errors=True)
            removed += 1
    return removed


async def prune_regularly(backend: str, prune: Callable[[], int]) -> None:
    """Call `prune` on a thread every `SETTLE_S`, until cancelled. It returns how many run folders it removed."""
    while True:
        await asyncio.sleep(SETTLE_S)
        with contextlib.suppress(OSError):
            _log.info("backend %s: removed %d old run folders", backend, await asyncio.to_thread(prune))
