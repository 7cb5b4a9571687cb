"""`dovetail preempt`: stop tasks of others for a workload that waits, after showing whom."""

from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import draw, say
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.client import Client


def command(
    name: WorkloadName,
    stop: Annotated[
        list[str] | None,
        Option("--stop", metavar="TASK", help="Whom to stop: batch-7.0; may be repeated.  [default: as suggested]"),
    ] = None,
    namespace: Namespace = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say whom.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask first.")] = False,
    url: Url = None,
) -> None:
    """Stop tasks of others, whatever their priority, so that a workload that waits can start.

    They are stopped with their grace period and wait again; what they free is kept for this workload. Without --stop,
    those that `dovetail explain` suggests to evict. It says whom, and asks before it does it, unless there is --yes.
    """
    with connect(url) as client:
        tasks = stop or _suggested(client, name, namespace)
        planned = client.preempt(name, tasks, namespace, dry_run=True)
        draw(render.decision.victim_list(planned["victims"]))
        number, fits = count(len(planned["victims"]), "task"), count(planned["tasks"], "task")
        if dry_run:
            say(f"{number} would be stopped, so that {fits} of {name} can start")
            return
        if not yes:
            _confirm(number, name)
        client.preempt(name, tasks, namespace)
        say(f"{number} asked to stop; {name} starts when they are gone")


def _suggested(client: "Client", name: str, namespace: str | None) -> list[str]:
    for one in client.explain(name, namespace)["suggestions"]:
        if one["action"] and "evict" in one["action"]:
            return [str(task) for task in one["action"]["evict"]]
    raise Failure(
        f"stopping others is not what would help {name}; dovetail explain {name} says what would", ExitCode.REFUSED
    )


def _confirm(number: str, name: str) -> None:
    import sys

    if not sys.stdin.isatty():
        raise Failure(f"nothing was stopped: add --yes to stop {number} for {name}", ExitCode.USAGE)
    if not click.confirm(f"stop {number} for {name}?", err=True):
        raise Failure("nothing was stopped")
