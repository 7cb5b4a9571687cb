"""`dovetail apply`: make what files describe, and change what is there; says beforehand what will be replaced."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.services.definitions import Definitions, read_definitions
from dovetail.cli.services.rollout import follow
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import Files
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect
from dovetail.cli.workloads.diff import difference, newest_of
from dovetail.cli.workloads.submission import caller
from dovetail.model.text.listing import first_of

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.model.workloads.workload import Workload
    from dovetail.responses.services import AppliedService


def command(
    file: Files = [],  # noqa: B006 - the parser wants the default itself and never changes it
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would be done.")] = False,
    wait: Annotated[bool, Option("--wait", help="Wait until updates are complete; failure is exit code 1.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Make the services of files, or change them to what the files say. Workloads among them are submitted, unless
    they are there already.

    It says first what is created, what is changed in place, and which replicas are replaced by new ones. Applying the
    same file again changes nothing.
    """
    if not file:
        raise Failure("say what to apply: -f FILE, a folder, or - for standard input", ExitCode.USAGE)
    found = read_definitions(file)
    with connect(url) as client:
        new = [workload for workload in found.workloads if _is_new(client, workload)]
        planned = client.apply(found.services, dry_run=True) if found.services else []
        if dry_run:
            answer = {"services": planned, "accepted": []}
            names = [workload.name for workload in new]
            show(answer, output, lambda _: render.services.applied_list(planned, "would be", names))
            return
        if output is Format.TABLE and any(one["replaced"] for one in planned):
            say(_warning(planned))
        done = apply_services(client, found)
        accepted = client.submit(new, **caller()) if new else []
        names = [row["name"] for row in accepted]
        show({"services": done, "accepted": accepted}, output, lambda _: render.services.applied_list(done, "", names))
        followed = [follow(client, one.name, one.namespace) for one in found.services] if wait else []
        if not all(followed):
            raise click.exceptions.Exit(ExitCode.FAILED)


def apply_services(client: "Client", found: Definitions) -> "list[AppliedService]":
    return client.apply(found.services, by=caller()["user"] or "") if found.services else []


def _warning(planned: "list[Any]") -> str:
    names = [f"{one['name']} ({one['replaced']})" for one in planned if one["replaced"]]
    return f"replaces the replicas of {first_of(names, most=10)}"


def _is_new(client: "Client", workload: "Workload") -> bool:
    """Whether it has to be submitted. Raises Failure for one that has not ended and is another now."""
    there = newest_of(client, workload)
    if there is None or there["finished_at"] is not None:
        return True
    if difference(workload, there):
        words = f"{workload.namespace}/{workload.name} has not ended, and a workload cannot be changed"
        raise Failure(f"{words}; see dovetail diff, or cancel it first: dovetail cancel {workload.name}")
    return False
