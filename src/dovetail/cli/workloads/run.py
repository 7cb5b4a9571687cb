"""`dovetail run`: submit a command, follow its output, end with its exit code."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Argument
from dovetail.cli.terminal.server import Url, connect
from dovetail.cli.workloads.following import WorkloadWaiting, output_of, show_until_ended
from dovetail.cli.workloads.job_options import NO_OPTIONS, JobOptions, takes_job_options
from dovetail.cli.workloads.submission import caller
from dovetail.cli.workloads.submit import work_to_submit
from dovetail.client.following.reconnecting import Reconnecting

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.workloads import AcceptedWorkload, TaskRow

INTERRUPTED = 130  # as a shell reports an end by Ctrl-C


@takes_job_options
def command(
    run: Annotated[list[str] | None, Argument(metavar="-- COMMAND", help="A command or a script.")] = None,
    job: JobOptions = NO_OPTIONS,
    url: Url = None,
) -> None:
    """Submit one command, show what it writes, and end with its exit code: dovetail run --cpu 2 -- make test

    Ctrl-C cancels it; a second Ctrl-C leaves at once. With several tasks each line has its task before it, and the exit
    code is that of the first task that failed.
    """
    if not run:
        raise Failure("say what to run: a command after --, as in: dovetail run --cpu 1 -- echo hi", ExitCode.USAGE)
    work = work_to_submit([], run, job)
    with connect(url, told=False) as client:
        [accepted] = work.send(partial(client.submit, **caller()))
        rows, was_interrupted = _until_ended(client, accepted, client.workload(accepted["id"])["replicas"])
    code = _exit_code(accepted["name"], rows)
    if was_interrupted:
        code = INTERRUPTED
    if code:
        raise click.exceptions.Exit(code)


def _until_ended(client: "Client", accepted: "AcceptedWorkload", replicas: int) -> "tuple[list[TaskRow], bool]":
    """The rows of its tasks, and whether the caller was interrupted."""
    id_, name = accepted["id"], accepted["name"]
    with _interrupts(name) as interrupted:
        again = Reconnecting(inf, lambda error: say(f"{error}; {name} goes on without it, waiting"), interrupted)
        titles = {one: f"{name}.{one}" for one in range(replicas)} if replicas > 1 else {}
        output = output_of(client, id_, titles, again, replicas=range(replicas), tolerates_none=True)
        show_until_ended([output], interrupted, WorkloadWaiting(client, id_, name))
        if not interrupted.is_set():
            return output.follower.rows, False
        _cancel(client, id_, name)
        show_until_ended([output], Event())
        return output.follower.rows, True


@contextmanager
def _interrupts(name: str) -> Iterator[Event]:
    """The first Ctrl-C or SIGTERM sets the event, the second ends this program at once."""
    interrupted = Event()

    def handle(_signo: int, _frame: Any) -> None:
        if interrupted.is_set():
            say(f"left; it may still run: dovetail get {name}")
            raise click.exceptions.Exit(INTERRUPTED)
        interrupted.set()

    before = {signo: signal.signal(signo, handle) for signo in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for signo, handler in before.items():
            signal.signal(signo, handler)


def _cancel(client: "Client", id_: int, name: str) -> None:
    from dovetail.client import DovetailError

    try:
        client.cancel(id_, reason="interrupted by Ctrl-C")
    except DovetailError as error:
        if error.status != 409:  # it has just ended
            raise
    say(f"cancelling {name}; Ctrl-C again leaves at once")


def _exit_code(name: str, rows: "list[TaskRow]") -> int:
    """0 if all succeeded. The exit code of the first that failed; 1 if it has none that a program can have."""
    for row in rows:
        if row["state"] != "succeeded":
            task = f"{name}.{row['replica']}" if len(rows) > 1 else name
            say(f"{task} {row['state']}: {row['message'] or row['reason']}")
            code = row["exit_code"]
            return code if code is not None and 0 < code < 256 else ExitCode.FAILED
    return ExitCode.DONE
