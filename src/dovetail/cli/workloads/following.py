"""Shows the output of several tasks as they write it, until all have ended: for `run` and `logs --follow`.

What is followed and how is the client's (`dovetail.client.following.task_output`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from dovetail.cli.terminal.output import say, write
from dovetail.model.backoff import Backoff

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.client.following.reconnecting import Reconnecting
    from dovetail.client.following.task_output import WorkloadFollower
    from dovetail.responses.workloads import TaskRow

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_MOST_TASKS = 10_000


class MarkedLines:
    """Whole lines of one task, each with its title before it."""

    def __init__(self, title: str) -> None:
        self._title, self._rest = title, ""

    def add(self, text: str) -> str:
        """The lines that are whole now."""
        *lines, self._rest = (self._rest + text).split("\n")
        return "".join(f"{self._title}: {line}\n" for line in lines)

    def last(self) -> str:
        """The last line, if it has no end."""
        rest, self._rest = self._rest, ""
        return f"{self._title}: {rest}\n" if rest else ""


class WorkloadOutput:
    """The output of some tasks of one workload. `titles`: the name before each line, by replica; none: no name."""

    def __init__(self, follower: "WorkloadFollower", titles: dict[int, str]) -> None:
        self.follower = follower
        self._lines = {replica: MarkedLines(title) for replica, title in titles.items()}

    def show_news(self) -> bool:
        """Write what is new. Returns whether there was anything."""
        found = False
        for replica, text in self.follower.news():
            found = True
            write(self._lines[replica].add(text) if self._lines else text)
        return found

    def show_rest(self) -> None:
        for lines in self._lines.values():
            write(lines.last())


def output_of(
    client: "Client",
    workload: int,
    titles: dict[int, str],
    again: "Reconnecting",
    *,
    replicas: Sequence[int],
    place: dict[str, Any] | None = None,
    tolerates_none: bool = False,
) -> WorkloadOutput:
    from dovetail.client.following.task_output import FollowedTask, WorkloadFollower

    tasks = {
        one: FollowedTask(partial(client.logs, workload, replica=one), place, tolerates_none=tolerates_none)
        for one in replicas
    }
    rows_of = partial(client.tasks, workload, limit=_MOST_TASKS)
    return WorkloadOutput(WorkloadFollower(rows_of, tasks, again), titles)


def show_until_ended(
    outputs: Sequence[WorkloadOutput],
    interrupted: Event,
    on_wait: "Callable[[Sequence[TaskRow]], None] | None" = None,
) -> None:
    """Write what the tasks write until all have ended, or `interrupted` is set. `on_wait` hears of tasks of which none
    has started."""
    from dovetail.client.following.task_output import waits_to_start

    backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
    while True:
        news = [output.show_news() for output in outputs]
        if any(news):
            backoff.reset()
            continue
        rows = [row for output in outputs for row in output.follower.rows]
        if interrupted.is_set() or all(output.follower.is_over for output in outputs):
            break
        if on_wait is not None and all(waits_to_start(row) for row in rows):
            on_wait(rows)
        interrupted.wait(backoff.next_s())
    for output in outputs:
        output.show_rest()


class WorkloadWaiting:
    """Says why nothing of a workload runs yet, once for each reason."""

    def __init__(self, client: "Client", workload: int, name: str) -> None:
        self._client, self._workload, self._name = client, workload, name
        self._told = ""

    def __call__(self, _: "Sequence[TaskRow]") -> None:
        workload = self._client.workload(self._workload)
        why = workload["message"]
        if why and why != self._told and workload["finished_at"] is None:
            say(f"{self._name}: waiting: {why}")
            self._told = why
