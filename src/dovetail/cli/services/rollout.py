"""`dovetail rollout`: the update of a service: follow it, undo it, see its revisions."""

import sys
import time
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode
from dovetail.cli.terminal.options import login
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.services import ServiceDetail, ServiceRow

LOOK_EVERY_S = 0.3

command = default_group("The update of a service: `rollout status NAME` follows it, `undo` goes back.")
ServiceName = Annotated[str, Argument(metavar="SERVICE", help="Its name, or namespace/name.", completes="services")]
Wait = Annotated[bool, Option("--wait", help="Wait until it is complete; failure is exit code 1.")]


@command.action("status")
def status(
    name: ServiceName,
    now: Annotated[bool, Option("--now", help="Say how it is, and do not wait.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Follow an update until it is complete. Exit code 1 if it failed or was rolled back."""
    with connect(url) as client:
        well = True if now else follow(client, name)
        row = client.service(name)
    show(row, output, lambda wide: render.services.one_service(row, time.time(), wide))
    if not well or row["rollout"] in ("failed", "rolled_back"):
        raise click.exceptions.Exit(ExitCode.FAILED)


@command.action("history")
def history(name: ServiceName, output: Output = Format.TABLE, url: Url = None) -> None:
    """The revisions of a service that are kept, newest first."""
    with connect(url) as client:
        rows = client.service(name)["revisions"][::-1]
    show(rows, output, lambda wide: render.services.revision_list(rows, time.time(), wide))


@command.action("undo")
def undo(
    name: ServiceName,
    to: Annotated[int | None, Option("--to", metavar="REVISION", min=1, help="Which; else the one before.")] = None,
    wait: Wait = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Go back to an earlier revision, as an update does: replica by replica."""
    with connect(url) as client:
        row = client.undo_rollout(name, to)
        show(row, output, lambda _: f"{row['name']}: goes back to revision {row['revision']}")
        _follow_if(client, row, wait)


@command.action("restart")
def restart(name: ServiceName, wait: Wait = False, output: Output = Format.TABLE, url: Url = None) -> None:
    """Replace every replica by a new one of the same definition, as an update does."""
    with connect(url) as client:
        row = client.restart_service(name, by=login() or "")
        show(row, output, lambda _: f"{row['name']}: every replica is replaced (revision {row['revision']})")
        _follow_if(client, row, wait)


def _follow_if(client: "Client", row: "ServiceRow", wait: bool) -> None:
    if wait and not follow(client, row["name"], row["namespace"]):
        raise click.exceptions.Exit(ExitCode.FAILED)


def follow(client: "Client", name: str, namespace: str | None = None) -> bool:
    """Wait until its update has ended, and say on stderr how it goes. Whether it is complete."""
    said = ""
    with status_line("waiting") as tell:
        in_place = tell if sys.stderr.isatty() else say
        while True:
            row = client.service(name, namespace=namespace)
            words = progress_words(row)
            if words != said:
                in_place(words)
                said = words
            if row["rollout"] != "progressing" and _is_settled(row):
                return row["rollout"] == "complete"
            time.sleep(LOOK_EVERY_S)


def _is_settled(row: "ServiceDetail") -> bool:
    """As many are there and ready as there should be, all of the present revision; or they never will be."""
    if row["rollout"] == "failed":
        return True
    new = [one for one in row["items"] if one["revision"] == row["revision"] and one["ready"]]
    return len(new) == len(row["items"]) == row["replicas"]


def progress_words(row: "ServiceDetail") -> str:
    words = f"{row['name']}: revision {row['revision']} {row['rollout'].replace('_', ' ')}"
    new = [one for one in row["items"] if one["revision"] == row["revision"]]
    words += f", {sum(one['ready'] for one in new)} of {row['replicas']} ready"
    old = len(row["items"]) - len(new)
    return words + (f", {old} of earlier revisions" if old else "") + (f": {row['message']}" if row["message"] else "")
