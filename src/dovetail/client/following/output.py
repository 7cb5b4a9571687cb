"""Client methods for the output of tasks: read it, or follow it until the task ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from dovetail.client.following.reconnecting import RECONNECT_S, Reconnecting
from dovetail.client.following.task_output import FollowedTask, OutputChunk, follow_one
from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.workloads import TaskRow

LOG_BYTES = 65536


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
        place = {"offset": offset, "tail": tail, "since": since}
        task = FollowedTask(partial(self.logs, ref, namespace, replica=replica), place)
        row_of = partial(self._task, ref, namespace, replica)
        return follow_one(task, row_of, Reconnecting(reconnect_s, on_trouble), on_wait)

    def _task(self, ref: str | int, namespace: str | None, replica: int | None) -> TaskRow | None:
        path, params = _path(ref, "tasks"), {"namespace": namespace, "limit": 1, "offset": replica or 0}
        rows: list[TaskRow] = self._http.items(path, params)
        return rows[0] if rows else None


def _path(ref: str | int, what: str) -> str:
    return f"{API}/workloads/{segment(str(ref), 'workload')}/{what}"
