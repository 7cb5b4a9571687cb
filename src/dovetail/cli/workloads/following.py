"""Follows the output of a workload's tasks until all have ended.

Guarantees: the output of the latest attempt is shown from its beginning, in order; with several tasks each line has the
task before it. An attempt that fails at once and is tried again may be missed. A server that does not answer is asked
again: the work goes on without it.
"""

from threading import Event
from typing import TYPE_CHECKING

from dovetail.cli.terminal.output import say, write
from dovetail.model.backoff import Backoff

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.workloads import TaskRow

_ENDED = frozenset({"succeeded", "failed", "cancelled"})
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_MOST_TASKS = 10_000


class TaskFollower:
    """One task: how far its output was shown. With a prefix, lines are written whole."""

    def __init__(self, client: "Client", workload: int, replica: int, prefix: str) -> None:
        self._client, self._workload, self._replica = client, workload, replica
        self._prefix, self._unfinished_line = prefix, ""
        self._attempt = self._offset = 0
        self._is_shown = False  # all of its latest attempt, which has ended

    def show_news(self, row: "TaskRow") -> bool:
        """Write what is new. Returns whether there was anything."""
        from dovetail.client import DovetailError

        if row["attempt"] != self._attempt:
            self._attempt, self._offset, self._is_shown = row["attempt"], 0, False
        if not self._attempt or self._is_shown or row["state"] == "placed":
            return False
        try:
            chunk = self._client.logs(self._workload, replica=self._replica, offset=self._offset)
        except DovetailError as error:
            self._is_shown = error.status == 404  # no output is kept; else its backend cannot be asked now
            return False
        self._offset, self._is_shown = chunk.next_offset, chunk.ended
        self._write(chunk.text, last=chunk.ended)
        return bool(chunk.text)

    def _write(self, text: str, last: bool) -> None:
        if not self._prefix:
            write(text)
            return
        lines = (self._unfinished_line + text).splitlines(keepends=True)
        self._unfinished_line = lines.pop() if lines and not last and not lines[-1].endswith("\n") else ""
        for line in lines:
            write(f"{self._prefix}{line}" if line.endswith("\n") else f"{self._prefix}{line}\n")


class OutputFollower:
    """All tasks of one workload."""

    def __init__(self, client: "Client", workload: int, name: str, replicas: int) -> None:
        self._client, self._workload, self._name = client, workload, name
        prefix = f"{name}.{{}}: " if replicas > 1 else ""
        self._tasks = [TaskFollower(client, workload, one, prefix.format(one)) for one in range(replicas)]
        self._told = ""

    def follow(self, interrupted: Event) -> "list[TaskRow]":
        """Write what the tasks write until all have ended, and return their rows; or when `interrupted` is set, with
        the rows so far."""
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            rows = self._rows(interrupted)
            news = [task.show_news(row) for task, row in zip(self._tasks, rows, strict=False)]
            if any(news):
                backoff.reset()
                continue
            if interrupted.is_set() or all(row["state"] in _ENDED for row in rows):
                return rows
            if all(row["state"] == "pending" for row in rows):
                self._tell_why()
            interrupted.wait(backoff.next_s())

    def _rows(self, interrupted: Event) -> "list[TaskRow]":
        """Ask until the server answers, unless the caller is interrupted."""
        from dovetail.client import ConnectError

        told = False
        while True:
            try:
                return self._client.tasks(self._workload, limit=_MOST_TASKS)
            except ConnectError as error:
                if interrupted.is_set():
                    raise
                if not told:
                    say(f"{error}; {self._name} goes on without it, waiting for the server")
                    told = True
                interrupted.wait(_LONGEST_PAUSE_S)

    def _tell_why(self) -> None:
        """Say why nothing runs yet, once for each reason."""
        why = self._client.workload(self._workload)["message"]
        if why and why != self._told:
            say(f"{self._name}: waiting: {why}")
            self._told = why
