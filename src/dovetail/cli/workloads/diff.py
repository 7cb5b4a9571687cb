"""`dovetail diff`: what a submit of files would change against the workloads of these names."""

import difflib
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import Files
from dovetail.cli.terminal.output import say, write
from dovetail.cli.terminal.server import Url, connect
from dovetail.cli.workloads.submission import read_submission

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.model.workloads.workload import Workload
    from dovetail.responses.workloads import WorkloadDetail


def command(file: Files = [], url: Url = None) -> None:  # noqa: B006 - the parser wants the default itself
    """What a submit of files would change against the newest workloads of these names. Nothing is changed.

    Exit code 1 if there is a difference, 0 if there is none. Your user name and directory, which `submit` adds, are not
    compared unless the file gives them.
    """
    if not file:
        raise Failure("say what to compare: -f FILE, a folder, or - for standard input", ExitCode.USAGE)
    work = read_submission(file)
    different = False
    with connect(url) as client:
        for workload in work.workloads:
            different = _compare(client, workload) or different
    if different:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _compare(client: "Client", workload: "Workload") -> bool:
    """Print the difference. Returns whether there is one."""
    there = newest_of(client, workload)
    name = f"{workload.namespace}/{workload.name}"
    lines = difference(workload, there)
    write("".join(lines))
    if lines and there is not None and there["finished_at"] is None:
        say(f"{name} has not ended; a submit is refused until it has: dovetail cancel {workload.name}")
    return bool(lines)


def difference(workload: "Workload", there: "WorkloadDetail | None") -> list[str]:
    """The lines of a diff between a workload of the server and one of a file; none if they are the same."""
    from dovetail.model.workloads.workload import Workload

    name, wanted = f"{workload.namespace}/{workload.name}", _fields(workload)
    if there is None:
        before, title = [], f"{name} (none)"
    else:
        known = _fields(Workload.model_validate(there["spec"]))
        before, title = _lines(_as_comparable(known, wanted)), f"{name} ({there['state']})"
    return list(difflib.unified_diff(before, _lines(wanted), title, f"{name} (file)", n=2))


def newest_of(client: "Client", workload: "Workload") -> "WorkloadDetail | None":
    from dovetail.client import DovetailError

    try:
        return client.workload(workload.name, workload.namespace)
    except DovetailError as error:
        if error.status != 404:
            raise
        return None


def _fields(workload: "Workload") -> dict[str, Any]:
    """What differs from the defaults, as a file would say it."""
    return workload.model_dump(mode="json", exclude_defaults=True)


def _as_comparable(known: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Without what only the caller's surroundings added."""
    found = {**known, "run": dict(known.get("run", {}))}
    if "user" not in wanted:
        found.pop("user", None)
    if "submit_dir" not in wanted.get("run", {}):
        found["run"].pop("submit_dir", None)
    return found if found["run"] else {name: value for name, value in found.items() if name != "run"}


def _lines(fields: dict[str, Any]) -> list[str]:
    import yaml

    return yaml.safe_dump(fields, sort_keys=True, allow_unicode=True, default_flow_style=False).splitlines(
        keepends=True
    )
