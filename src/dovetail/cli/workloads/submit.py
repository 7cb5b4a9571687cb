"""`dovetail submit`: workloads from files, one command or a script; now, as a rehearsal, or until they end."""

import os
import shlex
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.services.definitions import Definitions, definitions_in, may_hold_services
from dovetail.cli.terminal.failure import COMMAND_LINE, ExitCode, Failure
from dovetail.cli.terminal.files import SUFFIXES, Files
from dovetail.cli.terminal.named import typed_name
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, connect
from dovetail.cli.workloads.failure_hint import failure_hint
from dovetail.cli.workloads.job_options import NO_OPTIONS, JobOptions, takes_job_options
from dovetail.cli.workloads.scripts import is_script, read_script
from dovetail.cli.workloads.submission import WorkToSubmit, caller, described, made_up_name, read_submission
from dovetail.cli.workloads.waiting import wait_for
from dovetail.model.text.listing import count, first_of

if TYPE_CHECKING:
    from dovetail.responses.combined import FinishedWorkloads


def _print_directives(wanted: bool) -> None:
    if wanted:
        from dovetail.cli.workloads.sbatch_options import listed_options

        click.echo(listed_options())
        raise click.exceptions.Exit


@takes_job_options
def command(
    run: Annotated[
        list[str] | None, Argument(metavar="-- COMMAND", help="A command or a script, instead of files.")
    ] = None,
    file: Files = [],  # noqa: B006 - the parser wants the default itself and never changes it
    wait: Annotated[bool, Option("--wait", help="Wait until all have ended; failure is exit code 1.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Check and plan; submit nothing.")] = False,
    job: JobOptions = NO_OPTIONS,
    directives: Annotated[  # noqa: ARG001 - its callback answers
        bool,
        Option(
            "--directives",
            callback=_print_directives,
            is_eager=True,
            help="List the #SBATCH options that scripts may use.",
        ),
    ] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Submit workloads: all of them, durably, or none.

    From files: dovetail submit -f jobs.yaml. One command: dovetail submit --cpu 1 -- echo hi. A script with #DOVETAIL
    or #SBATCH lines: dovetail submit job.sh. The options from --name to --env describe the one command or script; files
    say these things themselves. Your user name and directory go along, unless the workload names others.
    """
    work = work_to_submit(file, run or [], job)
    if may_hold_services(work.texts):
        found = definitions_in(work.texts)
        if found.services:
            _apply_and_submit(found, dry_run, output, url)
            return
    with connect(url) as client:
        if dry_run:
            plan_and_show(partial(client.dry_run, **caller()), work, output)
            return
        accepted = work.send(partial(client.submit, **caller()))
        if not wait:
            show({"accepted": accepted}, output, lambda _: accepted_words(accepted))
            return
        say(accepted_words(accepted))
        rows = wait_for(client, [row["id"] for row in accepted])
        hint = failure_hint(client, rows)
    finished: FinishedWorkloads = {"workloads": rows}
    show(finished, output, lambda wide: render.workloads.workload_list(rows, time.time(), wide))
    if hint:
        say(hint)
        raise click.exceptions.Exit(ExitCode.FAILED)


def _apply_and_submit(found: Definitions, dry_run: bool, output: Format, url: str | None) -> None:
    """Services among the work are applied, and then the rest is submitted."""
    with connect(url) as client:
        if found.workloads:
            client.dry_run(found.workloads, **caller())  # what cannot be accepted keeps everything from being done
        done = client.apply(found.services, dry_run=dry_run, by=caller()["user"] or "")
        accepted = client.submit(found.workloads, **caller()) if found.workloads and not dry_run else []
    answer = {"accepted": accepted, "services": done}
    names = [workload.name for workload in found.workloads]
    show(answer, output, lambda _: render.services.applied_list(done, "would be" if dry_run else "", names))


def work_to_submit(files: list[str], run: list[str], job: JobOptions, verb: str = "submit") -> WorkToSubmit:
    """What the words of the command line of `dovetail VERB` mean."""
    only_files = bool(run) and all(map(_holds_workloads, run))
    if files and only_files:  # the shell made several words of -f *.yaml
        files, run = [*files, *run], []
    if files and (run or job.given()):
        what = "a command" if run else job.given()[0]
        raise Failure(f"give either files or a command, not both: {what} does not go with -f", ExitCode.USAGE)
    if files:
        return read_submission(files)
    if not run:
        example = f"dovetail {verb} --cpu 1 -- echo hi"
        words = f"say what to {verb}: -f FILE, a script, or a command after --, as in: {example}"
        raise Failure(words, ExitCode.USAGE)
    if only_files:
        said = shlex.join(run)
        words = f"{run[0]} is a file, and not one that can be run; to {verb} what it says: dovetail {verb} -f {said}"
        meant = f"if a program on the nodes is called so: dovetail {verb} -- env {said}"
        raise Failure(f"{words} ({meant})", ExitCode.USAGE)
    return _one_job(run, job)


def _one_job(run: list[str], job: JobOptions) -> WorkToSubmit:
    source, named = COMMAND_LINE, run
    if not run[0]:
        raise Failure("the program is empty; write what to run, as in: dovetail submit -- echo hi", ExitCode.USAGE)
    if is_script(run[0]):
        script = read_script(run[0], run[1:])
        for warning in script.warnings:
            say(f"warning: {warning}")
        source, named = str(script.path), [script.path.stem]
        job, run = job.over(script.options), script.command
    elif job.image is None and job.workdir is None:
        _warn_if_missing(run[0])
    fields = job.workload()
    if fields["name"] is None:
        fields["name"] = made_up_name(named)
    fields["run"]["command"] = run
    return described(fields, source)


def _holds_workloads(word: str) -> bool:
    """Whether it looks like a file for which -f was forgotten."""
    path = Path(word)
    return path.suffix.lower() in SUFFIXES and path.is_file() and not os.access(path, os.X_OK)


def _warn_if_missing(word: str) -> None:
    """A mistyped file would fail on a node, later. A program of that name may be there, so this is no error."""
    path = Path(word)
    looks_like_file = "/" in word or path.suffix == ".sh" or path.suffix.lower() in SUFFIXES
    if looks_like_file and not path.is_absolute() and not path.exists():
        say(f"warning: there is no file {word} here; it is submitted as a command that the node must have")


def accepted_words(accepted: list[Any]) -> str:
    names = [typed_name(row) for row in accepted]
    return f"accepted {count(len(names), 'workload')}: {first_of(names, most=10)}"


def plan_and_show(plan: Callable[..., Any], work: WorkToSubmit, output: Format) -> None:
    """Where the work would go, as `plan` answers; exit code 1 when not all of it fits now."""
    plans = work.send(plan)
    show({"plans": plans}, output, lambda wide: render.decision.plan_list(plans, wide))
    if any(plan["unplaced"] for plan in plans):
        raise click.exceptions.Exit(ExitCode.FAILED)
