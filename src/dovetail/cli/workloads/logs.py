"""`dovetail logs`: what tasks wrote, now or as they write it."""

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from dovetail.cli import render
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say, write
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.past import Since, past_moment
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect
from dovetail.cli.terminal.trouble import say_trouble
from dovetail.cli.workloads.following import MarkedLines, output_of, show_until_ended
from dovetail.client.following.reconnecting import RECONNECT_S, Reconnecting

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.workloads import TaskRow


def command(
    name: WorkloadName,
    replica: Annotated[
        list[int] | None,
        Option("--replica", "-r", metavar="N", min=0, help="Which task, may be repeated; else the one in NAME, or 0."),
    ] = None,
    everything: Annotated[bool, Option("--all", "-a", help="All its tasks.")] = False,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until the task ends.")] = False,
    tail: Annotated[int | None, Option(metavar="N", min=0, help="Only the last lines.")] = None,
    since: Since = None,
    previous: Annotated[bool, Option("--previous", "-p", help="The attempt before the latest one.")] = False,
    attempt: Annotated[int | None, Option(metavar="N", min=1, help="This attempt.")] = None,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Print what a task wrote to its output and error output; the latest attempt where there were several.

    With several tasks every line begins with the name of its task. --follow goes on over several attempts, and when the
    server was away for a while; if it stays away, that is exit code 3.
    """
    if follow and (previous or attempt is not None):
        raise Failure("--follow follows the latest attempt; leave out --previous and --attempt", ExitCode.USAGE)
    place: dict[str, Any] = {"tail": tail, "since": past_moment("--since", since, time.time())}
    with connect(url, told=not follow) as client:
        tasks = _tasks(client, name, namespace, replica or [], everything)
        if follow:
            _follow(client, tasks, place)
            return
        for task in tasks:
            texts = _texts(client, task, place | {"previous": previous, "attempt": attempt})
            _print(texts if len(tasks) == 1 else _marked(task.title, texts), skips_missing=len(tasks) > 1)


class LoggedTask(NamedTuple):
    """`title`: its name, as it can be typed."""

    workload: int
    replica: int
    title: str


def _tasks(
    client: "Client", name: str, namespace: str | None, replicas: Sequence[int], everything: bool
) -> list[LoggedTask]:
    """The tasks that are meant: of one workload, or of each workload of a group."""
    found = client.named(name, namespace)
    tasks = []
    for row in found["workloads"]:
        chosen = sorted(set(replicas)) or [found["replica"] or 0]
        numbers = range(row["replicas"]) if everything else chosen
        titles = {number: render.replicas.task_title(row, number, row["namespace"]) for number in numbers}
        tasks += [LoggedTask(row["id"], number, title) for number, title in titles.items()]
    return tasks


def _texts(client: "Client", task: LoggedTask, how: dict[str, Any]) -> Iterator[str]:
    """The output up to now."""
    chunk = client.logs(task.workload, replica=task.replica, **how)
    while True:
        yield chunk.text
        if chunk.ended or not chunk.text:
            return
        chunk = client.logs(task.workload, replica=task.replica, attempt=chunk.attempt, offset=chunk.next_offset)


def _print(texts: Iterator[str], skips_missing: bool) -> None:
    """`skips_missing`: a task without output is named, and does not end the command."""
    from dovetail.client import DovetailError

    try:
        for text in texts:
            write(text)
    except DovetailError as error:
        if not skips_missing or error.status != 404:
            raise
        say(error.detail)


def _marked(title: str, texts: Iterator[str]) -> Iterator[str]:
    """Whole lines, each with its title."""
    lines = MarkedLines(title)
    for text in texts:
        yield lines.add(text)
    yield lines.last()


# --- following ---------------------------------------------------------------------------------------------------


def _follow(client: "Client", tasks: Sequence[LoggedTask], place: dict[str, Any]) -> None:
    if len(tasks) == 1:
        for text in _followed(client, tasks[0], place):
            write(text)
        return
    from dovetail.client import ConnectError

    again = Reconnecting(RECONNECT_S, say_trouble)
    outputs = []
    for workload, some in groupby(tasks, key=lambda task: task.workload):
        titles = {task.replica: task.title for task in some}
        outputs.append(
            output_of(client, workload, titles, again, replicas=list(titles), place=place, tolerates_none=True)
        )
    try:
        show_until_ended(outputs, Event())
    except ConnectError as error:
        words = f"{error}\nthe tasks may go on without it; their output is not whole"
        raise Failure(words, ExitCode.UNREACHABLE) from None


def _followed(client: "Client", task: LoggedTask, place: dict[str, Any]) -> Iterator[str]:
    from dovetail.client import ConnectError

    how: dict[str, Any] = {"reconnect_s": RECONNECT_S, "on_trouble": say_trouble, "on_wait": _Waiting(task.title)}
    try:
        yield from client.follow_logs(task.workload, replica=task.replica, **how, **place)
    except ConnectError as error:
        words = f"{error}\n{task.title} may go on without it; its output is not whole"
        raise Failure(words, ExitCode.UNREACHABLE) from None


class _Waiting:
    """Says once why a task has no output yet."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._told = ""

    def __call__(self, task: "TaskRow") -> None:
        words = f"waiting: {self._title} is {task['state']}" + (f", {task['message']}" if task["message"] else "")
        if words != self._told:
            say(words)
            self._told = words
