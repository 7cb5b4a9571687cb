"""`dovetail submit`: workloads from files, or one command; now, as a rehearsal, or until they end."""

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import SUFFIXES, Files
from dovetail.cli.terminal.named import typed_name
from dovetail.cli.terminal.options import Cpu, Disk, Gpu, Memory, resources
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, connect
from dovetail.cli.workloads.submission import WorkToSubmit, described, made_up_name, read_submission
from dovetail.cli.workloads.waiting import wait_for
from dovetail.model.text.listing import count, first_of

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.combined import FinishedWorkloads

_NEEDED = "say what to submit: -f FILE, or a command after --, as in: dovetail submit --cpu 1 -- echo hi"


def command(
    run: Annotated[
        list[str] | None, Argument(metavar="-- COMMAND", help="One command to run, instead of files.")
    ] = None,
    file: Files = [],  # noqa: B006 - the parser wants the default itself and never changes it
    wait: Annotated[bool, Option("--wait", help="Wait until all have ended; failure is exit code 1.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Check and plan; submit nothing.")] = False,
    name: Annotated[str | None, Option(metavar="NAME", help="Its name; made up if left out.")] = None,
    namespace: Annotated[str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="Its namespace.")] = None,
    cpu: Cpu = None,
    memory: Memory = None,
    disk: Disk = None,
    gpu: Gpu = None,
    replicas: Annotated[int | None, Option(metavar="N", help="How many tasks.")] = None,
    priority: Annotated[str | None, Option(metavar="WORD", help="critical, high, medium, low, batch.")] = None,
    profile: Annotated[str | None, Option(metavar="PROFILE", help="How to decide.")] = None,
    retries: Annotated[int | None, Option(metavar="N", help="Tries after a failure.")] = None,
    env: Annotated[list[str] | None, Option("--env", "-e", metavar="K=V", help="Set a variable.")] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Submit workloads: all of them, durably, or none.

    From files: dovetail submit -f jobs.yaml. One command: dovetail submit --cpu 1 -- echo hi. The options from --name
    to --env describe the one command; files say these things themselves.
    """
    asked = resources(cpu, memory, disk, gpu)
    fields = {
        "name": name,
        "namespace": namespace,
        "replicas": replicas,
        "priority": priority,
        "profile": profile,
        "retries": retries,
        "resources": asked,
        "run": {"env": _variables(env or [])},
    }
    work = _work(file, run or [], fields)
    with connect(url) as client:
        if dry_run:
            plan_and_show(client, work, output, rehearsal=True)
            return
        accepted = work.send(client.submit)
        if not wait:
            show({"accepted": accepted}, output, lambda _: _accepted_words(accepted))
            return
        say(_accepted_words(accepted))
        rows = wait_for(client, [row["id"] for row in accepted])
    finished: FinishedWorkloads = {"workloads": rows}
    show(finished, output, lambda wide: render.workloads.workload_list(rows, time.time(), wide))
    unlucky = [row for row in rows if row["state"] != "succeeded"]
    if unlucky:
        say(f"its output: dovetail logs {unlucky[0]['id']}; its story: dovetail describe {unlucky[0]['id']}")
        raise click.exceptions.Exit(ExitCode.FAILED)


def _work(files: list[str], run: list[str], fields: dict[str, Any]) -> WorkToSubmit:
    only_files = bool(run) and all(map(_holds_workloads, run))
    if files and only_files:  # the shell made several words of -f *.yaml
        files, run = [*files, *run], []
    if files and (run or _options_in(fields)):
        what = "a command" if run else _options_in(fields)[0]
        raise Failure(f"give either files or a command, not both: {what} does not go with -f", ExitCode.USAGE)
    if files:
        return read_submission(files)
    if not run:
        raise Failure(_NEEDED, ExitCode.USAGE)
    if only_files:
        said = shlex.join(run)
        words = f"{run[0]} is a file, and not one that can be run; to submit what it says: dovetail submit -f {said}"
        meant = f"if a program on the nodes is called so: dovetail submit -- env {said}"
        raise Failure(f"{words} ({meant})", ExitCode.USAGE)
    fields["name"] = fields["name"] or made_up_name(run)
    fields["run"]["command"] = run
    return described(fields)


def _holds_workloads(word: str) -> bool:
    """Whether it looks like a file for which -f was forgotten."""
    path = Path(word)
    return path.suffix.lower() in SUFFIXES and path.is_file() and not os.access(path, os.X_OK)


def _options_in(fields: dict[str, Any]) -> list[str]:
    """The options that were given, as they were typed."""
    inner = [*fields["resources"], *(["env"] if fields["run"]["env"] else [])]
    outer = [name for name, value in fields.items() if value is not None and not isinstance(value, dict)]
    return [f"--{name}" for name in (*outer, *inner)]


def _variables(given: list[str]) -> dict[str, str]:
    for assignment in given:
        if "=" not in assignment:
            raise Failure(f"--env {assignment}: write it as NAME=VALUE", ExitCode.USAGE)
    return dict(assignment.split("=", 1) for assignment in given)


def _accepted_words(accepted: list[Any]) -> str:
    names = [typed_name(row) for row in accepted]
    return f"accepted {count(len(names), 'workload')}: {first_of(names, most=10)}"


def plan_and_show(client: "Client", work: WorkToSubmit, output: Format, rehearsal: bool = False) -> None:
    """Where the work would go; exit code 1 when not all of it fits now."""
    plans = work.send(client.dry_run if rehearsal else client.plan)
    show({"plans": plans}, output, lambda wide: render.decision.plan_list(plans, wide))
    if any(plan["unplaced"] for plan in plans):
        raise click.exceptions.Exit(ExitCode.FAILED)
