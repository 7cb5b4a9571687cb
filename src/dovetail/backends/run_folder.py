"""Run folders: what a backend keeps on disk about each attempt, in a folder named after its key.

A run folder outlives the control plane, and also records that its key has run. It is removed as `retention` says.
"""

import asyncio
import contextlib
import logging
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, Self

from dovetail.backends.contract import LogChunk
from dovetail.backends.log_streams import offset_at, read_output, tail_offset
from dovetail.backends.retention import SETTLE_S, to_remove
from dovetail.model.command import task_of_key

OUTPUT = "output.log"
OUTPUT_TIMES = "output.times"  # how long the output was when
_REMOVED = ".gone-"
_log = logging.getLogger(__name__)


class RunFolder(ABC):
    """The run folder of one attempt. Raises ValueError for an invalid key. All methods block."""

    order_file: ClassVar[str]
    """Written by bind."""

    def __init__(self, folder: Path, key: str) -> None:
        self.task = task_of_key(key)
        self.key = key
        self.path = folder / key

    @classmethod
    def all_in(cls, folder: Path) -> list[Self]:
        found = []
        for path in folder.iterdir():
            with contextlib.suppress(ValueError):
                found.append(cls(folder, path.name))
        return found

    @abstractmethod
    def ended_at(self) -> float | None:
        """In seconds since the epoch. None: it has not ended."""

    @classmethod
    def read_output(cls, folder: Path, key: str, offset: int, limit: int) -> LogChunk:
        """Raises KeyError for a key that was never bound here."""
        run = cls._bound(folder, key)
        return read_output(run.path / OUTPUT, offset, limit, ended=run.ended_at() is not None)

    @classmethod
    def find_tail(cls, folder: Path, key: str, lines: int) -> int:
        """Where the last lines of its output begin. Raises KeyError as `read_output` does."""
        return tail_offset(cls._bound(folder, key).path / OUTPUT, lines)

    @classmethod
    def find_since(cls, folder: Path, key: str, at: float) -> int:
        """Where the output since that time begins, or a little before. Raises KeyError as `read_output` does."""
        return offset_at(cls._bound(folder, key).path / OUTPUT_TIMES, at)

    @classmethod
    def _bound(cls, folder: Path, key: str) -> Self:
        try:
            run = cls(folder, key)
        except ValueError as error:
            raise KeyError(str(error)) from None
        if not (run.path / cls.order_file).exists():
            raise KeyError(f"no logs of attempt {key}: it was never started here, or its run folder has been removed")
        return run


def prune(folder: Path, runs: Iterable[RunFolder], keep: int, keep_for_s: float, now: float) -> int:
    """Remove run folders in `folder` that are too old or too many; returns how many were removed."""
    for half_removed in folder.glob(f"{_REMOVED}*"):
        _remove_tree(half_removed)
    ended_at = {run.path: at for run in runs if (at := run.ended_at()) is not None}
    removed = 0
    for path in to_remove(ended_at, keep, keep_for_s, now):
        # Rename it first: a run folder that is only half removed would look like one that has not run.
        renamed = folder / f"{_REMOVED}{path.name}-{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            path.rename(renamed)
            _remove_tree(renamed)
            removed += 1
    return removed


def _remove_tree(path: Path) -> None:
    """What cannot be removed stays until the next time. Tasks can nest folders deeper than Python follows."""
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", str(path)], check=False)  # noqa: S603, S607


async def prune_regularly(backend: str, prune: Callable[[], int]) -> None:
    """Call `prune` on a thread every `SETTLE_S`, until cancelled. It returns how many run folders it removed.

    So nothing is removed right after a start: commands from before may still be repeated.
    """
    while True:
        await asyncio.sleep(SETTLE_S)
        with contextlib.suppress(OSError):
            _log.info("backend %s: removed %d old run folders", backend, await asyncio.to_thread(prune))
