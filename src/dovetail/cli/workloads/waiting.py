"""Waiting for workloads to finish, with a note on stderr whenever something changes.

Guarantees: interrupting the wait leaves the work alone. On a terminal one line changes in place; elsewhere every change
is a line of its own.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.terminal.named import typed_name
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.screen import status_line
from dovetail.client.following.waiting import ENDED

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.workloads import WorkloadDetail

_SPOKEN_OF = 20  # more workloads than this are summed up instead of named


def wait_for(client: "Client", ids: Sequence[int]) -> "list[WorkloadDetail]":
    """The rows of the workloads once all have ended, in the order given."""
    try:
        with status_line("waiting") as tell:
            progress = _Progress(len(ids), tell if sys.stderr.isatty() else None)
            return client.wait(*ids, told=progress.tell)
    except KeyboardInterrupt:
        say("the work goes on; `dovetail get` shows it, `dovetail cancel` stops it")
        raise


class _Progress:
    """One line in place on a terminal, elsewhere one line for each change."""

    def __init__(self, number: int, tell_in_place: "Callable[[str], None] | None") -> None:
        self._number = number
        self._tell_in_place = tell_in_place
        self._told: dict[int, str] = {}
        self._states: dict[int, str] = {}

    def tell(self, row: "WorkloadDetail") -> None:
        words = progress_words(row)
        if self._told.get(row["id"]) == words:
            return
        self._told[row["id"]], self._states[row["id"]] = words, row["state"]
        if self._number > _SPOKEN_OF:
            ended = sum(state in ENDED for state in self._states.values())
            words = f"{ended} of {self._number} workloads ended"
        if self._tell_in_place is not None:
            self._tell_in_place(words)
        elif self._number <= _SPOKEN_OF or row["state"] in ENDED:
            say(words)


def progress_words(row: "WorkloadDetail") -> str:
    """`train: running, 3 of 4 tasks done`; for waiting work why it waits."""
    words = f"{typed_name(row)}: {row['state']}"
    if row["replicas"] > 1:
        words += f", {row['succeeded']} of {row['replicas']} tasks done"
    if row["failed"]:
        words += f", {row['failed']} failed"
    if row["state"] in ("pending", "failed") and row["message"]:
        words += f": {row['message']}"
    return words
