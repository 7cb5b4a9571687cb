"""Client methods for the output of tasks: read it, or follow it until the task ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dovetail.client.errors import DovetailError
from dovetail.client.reconnecting import RECONNECT_S, Reconnecting
from dovetail.client.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.workloads import TaskRow

LOG_BYTES = 65536
WAIT_S = 10.0  # how long the server may wait for more output before it answers
PAUSE_S = 0.3
SETTLE_S = 15.0  # the server hears within this time that an attempt ended
_NOT_STARTED = frozenset({"pending", "placed", "bound"})
_NOT_FOUND = 404
_ENDED = frozenset({"succeeded", "failed", "cancelled"})


class OutputChunk(NamedTuple):
    """Output from a byte offset. `ended`: the attempt has ended and there is no more output."""

    text: str
    next_offset: int
    ended: bool
    attempt: int = 1


class OutputCalls:
    _http: Transport

    def logs(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        replica: int | None = None,
        attempt: int | None = None,
        previous: bool = False,
        offset: int = 0,
        limit: int = LOG_BYTES,
        tail: int | None = None,
        since: float | None = None,
        wait_s: float = 0.0,
    ) -> OutputChunk:
        """Output of the latest attempt, of the one before (`previous`) or of any, from a byte offset, from so many
        lines before its end (`tail`) or from a time on (`since`, seconds since the epoch). Go on from `next_offset`
        until `ended`. `wait_s`: wait so long for output if there is none yet."""
        params = {
            "namespace": namespace,
            "replica": replica,
            "attempt": attempt,
            "previous": previous or None,
            "offset": offset,
            "limit": limit,
            "tail": tail,
            "since": since,
            "wait": wait_s or None,
        }
        answer = self._http.ask("GET", _path(ref, "logs"), params=params)
        headers = answer.headers
        following = int(headers.get("x-next-offset", offset + len(answer.content)))
        return OutputChunk(answer.text, following, headers.get("x-ended") == "true", int(headers.get("x-attempt", 1)))

    def follow_logs(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        replica: int | None = None,
        offset: int = 0,
        tail: int | None = None,
        since: float | None = None,
        reconnect_s: float = RECONNECT_S,
        on_trouble: Callable[[str], None] | None = None,
        on_wait: Callable[[TaskRow], None] | None = None,
    ) -> Iterator[str]:
        """Output as the task writes it, until the task ends, also over several attempts.

        While the server is away, this waits and then goes on where it was. `ConnectError` is raised if it stays away
        for `reconnect_s`. `on_wait` hears of a task that has not started, `on_trouble` of a server that is away.
        """
        read = partial(self.logs, ref, namespace, replica=replica)
        task_of = partial(self._task, ref, namespace, replica)
        follower = LogFollower(read, task_of, Reconnecting(reconnect_s, on_trouble), on_wait)
        return follower.texts(offset, tail, since)

    def _task(self, ref: str | int, namespace: str | None, replica: int | None) -> TaskRow | None:
        path, params = _path(ref, "tasks"), {"namespace": namespace, "limit": 1, "offset": replica or 0}
        rows: list[TaskRow] = self._http.items(path, params)
        return rows[0] if rows else None


class LogFollower:
    """The output of one task as it is written. `read` takes the arguments of `OutputCalls.logs`."""

    def __init__(
        self,
        read: Callable[..., OutputChunk],
        task_of: Callable[[], TaskRow | None],
        again: Reconnecting,
        on_wait: Callable[[TaskRow], None] | None,
    ) -> None:
        self._read = read
        self._task_of = task_of
        self._again = again
        self._on_wait = on_wait

    def texts(self, offset: int, tail: int | None, since: float | None) -> Iterator[str]:
        """Beginning with the latest attempt, in which the place to begin is meant."""
        self._started(after=0)
        first = self._again.ask(partial(self._read, offset=offset, tail=tail, since=since))
        yield from self._rest(first)
        last = first.attempt
        while newest := self._started(after=last):
            for attempt in range(last + 1, newest + 1):
                chunk = self._again.ask(partial(self._read_if_any, attempt))
                if chunk is not None:
                    yield from self._rest(chunk)
            last = newest

    def _rest(self, chunk: OutputChunk) -> Iterator[str]:
        """What the chunk holds, and what follows it until its attempt ends."""
        while True:
            if chunk.text:
                yield chunk.text
            if chunk.ended:
                return
            chunk = self._again.ask(partial(self._more, chunk))

    def _more(self, chunk: OutputChunk) -> OutputChunk:
        began = time.monotonic()
        found = self._read(attempt=chunk.attempt, offset=chunk.next_offset, wait_s=WAIT_S)
        if not found.text and not found.ended and time.monotonic() - began < PAUSE_S:
            time.sleep(PAUSE_S)  # this server does not wait
        return found

    def _read_if_any(self, attempt: int) -> OutputChunk | None:
        """None for an attempt that left no output, such as one that its backend refused."""
        try:
            return self._read(attempt=attempt)
        except DovetailError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _started(self, after: int) -> int:
        """Wait until an attempt after that one has started; its number, 0 if there will be none."""
        until = time.monotonic() + SETTLE_S
        while True:
            task = self._again.ask(self._task_of)
            if task is None:
                return 0
            ended, is_next = task["state"] in _ENDED, task["attempt"] > after
            if ended or (is_next and task["state"] not in _NOT_STARTED):
                return task["attempt"] if is_next else 0
            if task["state"] not in _NOT_STARTED and time.monotonic() > until:
                return 0  # its output has ended, and nobody says that it has
            if self._on_wait is not None and task["state"] in _NOT_STARTED:
                self._on_wait(task)
            time.sleep(PAUSE_S)


def _path(ref: str | int, what: str) -> str:
    return f"{API}/workloads/{segment(str(ref), 'workload')}/{what}"
