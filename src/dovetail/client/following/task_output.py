"""Following the output of tasks until they end, over several attempts: one task or many, for all who follow.

Guarantees: everything that an attempt wrote comes once and in order, and then what the next attempt wrote; none is left
out. While the server is away it is asked again, and nothing is lost. Who shows the output, and how, is left to others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.client.errors import DovetailError
from dovetail.client.following.reconnecting import Reconnecting

if TYPE_CHECKING:
    from dovetail.responses.workloads import TaskRow

WAIT_S = 10.0  # how long the server may wait for more output before it answers
PAUSE_S = 0.3
SETTLE_S = 15.0  # the server hears within this time that an attempt ended
ENDED = frozenset({"succeeded", "failed", "cancelled"})
_NOT_STARTED = frozenset({"pending", "placed", "bound"})
_NOT_FOUND, _UNAVAILABLE = 404, 503


class OutputChunk(NamedTuple):
    """Output from a byte offset. `ended`: the attempt has ended and there is no more output."""

    text: str
    next_offset: int
    ended: bool
    attempt: int = 1


class FollowedTask:
    """One task: which attempt is read, and how far. It begins with the latest one, at `place`: `offset`, `tail` or
    `since`. `read` takes the arguments of `Client.logs`. `is_read`: all of the attempt, or none has started."""

    def __init__(
        self, read: Callable[..., OutputChunk], place: Mapping[str, Any] | None = None, *, tolerates_none: bool = False
    ) -> None:
        """`tolerates_none`: a task without any output is no error."""
        self.is_read = True
        self._read, self._place = read, dict(place or {})
        self._tolerates_none = tolerates_none
        self._attempt = 0
        self._read_at = time.monotonic()

    def has_more(self, row: TaskRow) -> bool:
        """Whether `news` may bring something. Goes on to the next attempt if one was read to its end."""
        if not self.is_read:
            return True
        ended, newest = row["state"] in ENDED, row["attempt"]
        if ended and not newest and not self._attempt and not self._tolerates_none:
            self._read()  # which says why there is none
        upcoming = self._attempt + 1 if self._attempt else newest
        begun = ended or row["state"] not in _NOT_STARTED or upcoming < newest
        if not (0 < upcoming <= newest and begun):
            return False
        if self._attempt:
            self._place = {}
        self._attempt, self.is_read = upcoming, False
        return True

    def news(self, wait_s: float = 0.0) -> str:
        """What was written since; waits so long for something."""
        try:
            chunk = self._read(attempt=self._attempt, wait_s=wait_s, **self._place)
        except DovetailError as error:
            if error.status != _NOT_FOUND or not (self._tolerates_none or self._attempt > 1):
                raise
            self._has_been_read()
            return ""
        self._place = {"offset": chunk.next_offset}
        if chunk.ended:
            self._has_been_read()
        return chunk.text

    def is_over(self, row: TaskRow) -> bool:
        """It has ended and was read; or its output has ended, and nobody says for long that it has."""
        if not self.is_read or row["attempt"] > self._attempt > 0:
            return False
        if row["state"] in ENDED:
            return True
        return row["state"] not in _NOT_STARTED and time.monotonic() - self._read_at > SETTLE_S

    def _has_been_read(self) -> None:
        self.is_read, self._read_at = True, time.monotonic()


def waits_to_start(row: TaskRow) -> bool:
    return row["state"] in _NOT_STARTED


def follow_one(
    task: FollowedTask,
    row_of: Callable[[], TaskRow | None],
    again: Reconnecting,
    on_wait: Callable[[TaskRow], None] | None,
) -> Iterator[str]:
    """The output of one task as it is written. The server waits for it, so little is asked."""
    while (row := again.ask(row_of)) is not None:
        if again.ask(partial(task.has_more, row)):
            while not task.is_read:
                began = time.monotonic()
                text = again.ask(partial(task.news, WAIT_S))
                if text:
                    yield text
                elif not task.is_read and time.monotonic() - began < PAUSE_S:
                    time.sleep(PAUSE_S)  # this server does not wait
            continue
        if task.is_over(row):
            return
        if on_wait is not None and waits_to_start(row):
            on_wait(row)
        time.sleep(PAUSE_S)


class WorkloadFollower:
    """Some tasks of one workload, by their numbers: one question for the states of all of them."""

    def __init__(
        self, rows_of: Callable[[], Sequence[TaskRow]], tasks: Mapping[int, FollowedTask], again: Reconnecting
    ) -> None:
        self.rows: list[TaskRow] = []
        self._rows_of, self._tasks, self._again = rows_of, tasks, again

    def news(self) -> Iterator[tuple[int, str]]:
        """What each task wrote since the last time, without waiting for more."""
        found = self._again.ask(self._rows_of)
        self.rows = [row for row in found if row["replica"] in self._tasks]
        for row in self.rows:
            task = self._tasks[row["replica"]]
            try:
                while self._again.ask(partial(task.has_more, row)):
                    text = task.news()
                    if not text:
                        break
                    yield row["replica"], text
            except DovetailError as error:
                if error.status != _UNAVAILABLE:  # else its backend cannot be asked now
                    raise

    @property
    def is_over(self) -> bool:
        return all(self._tasks[row["replica"]].is_over(row) for row in self.rows)
