"""The start of a gang: the scripts of its jobs wait for each other, so that all commands begin or none does.

A batch system starts the jobs of a gang one by one, as their nodes become free. Each script enters its key here and
waits. The one that finds all keys decides `go`. Anybody who knows that a member will not start decides `broken`, with
the reason: its script, when it is stopped or has waited too long, or the backend. The decision is a symbolic link,
which only the first can create, also on a network file system, so it is made once. It needs no control plane.

    <folder>/<key of the first member>/gang/<key>     the script of this member has started
                                            decided   a link to `go`, or to `broken:` and the reason
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from dovetail.model.command import GangStart

GANG, DECIDED, GO, BROKEN = "gang", "decided", "go", "broken:"
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class GangProgress:
    """`arrived`: members whose scripts have started. `broken`: why their commands will not."""

    tasks: int
    arrived: int
    started: bool = False
    broken: str | None = None

    def in_words(self) -> str:
        return f"{self.arrived} of the {self.tasks} tasks that start together are ready"


class GangFolder:
    """All methods block."""

    def __init__(self, folder: Path, gang: GangStart) -> None:
        self.path = folder / gang.id / GANG
        self._tasks = gang.tasks

    def create(self) -> None:
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)

    def progress(self) -> GangProgress:
        try:
            decided = os.readlink(self.path / DECIDED)  # noqa: PTH115 - a text, not a path
        except OSError:
            decided = ""
        try:
            arrived = sum(path.name[0].isdigit() for path in self.path.iterdir())
        except FileNotFoundError:
            arrived = 0
        broken = decided.removeprefix(BROKEN) if decided.startswith(BROKEN) else None
        return GangProgress(self._tasks, arrived, started=decided == GO, broken=broken)

    def break_start(self, why: str) -> None:
        """No member begins, unless that was decided before."""
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            (self.path / DECIDED).symlink_to(f"{BROKEN}{' '.join(why.split())[:_LONGEST_REASON]}")
