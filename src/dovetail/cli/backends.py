"""`dovetail backend`: list, inspect, add and remove the systems that own nodes and run tasks."""

import time
from pathlib import Path
from typing import Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.options import By, Limit, Note, Search, login, sorts_by
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.paging import every_page, show_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, check_name, connect

command = default_group("The systems that run work; `backend` alone lists them, `backend NAME` shows one.")


BackendName = Annotated[str, Argument(metavar="BACKEND", callback=check_name, help="The backend.")]


@command.action("list")
def list_backends(
    sort: Annotated[
        str,
        sorts_by(
            "name",
            "kind",
            "state",
            "nodes",
            "tasks",
            "waiting",
            "latency_p50_s",
            "latency_p99_s",
            "errors",
            "last_success_at",
        ),
    ] = "",
    search: Search = "",
    limit: Limit = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Every backend: its state, its nodes, how long its calls take. `dovetail backend` does this."""
    with connect(url) as client:
        page = client.backend_page(search=search, sort=sort, limit=limit)
    now = time.time()
    show_page(page, output, lambda rows, wide: render.backends.backend_list(rows, now, wide), "backend", search=search)


@command.action("show")
def show_backend(name: BackendName, output: Output = Format.TABLE, url: Url = None) -> None:
    """One backend: its health, what it can do and its settings. Secrets are shown as •••."""
    with connect(url) as client:
        row = client.backend(name)
    show(row, output, lambda _: render.backends.one_backend(row, time.time()))


@command.action("add")
def add(
    name: BackendName,
    kind: Annotated[str | None, Option(metavar="KIND", help="What it is, such as docker or slurm.")] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="FIELD=VALUE", help="A setting, such as hosts.a.url=…; may be repeated."),
    ] = None,
    file: Annotated[
        Path | None,
        Option("--file", "-f", metavar="FILE", help="A mapping of kind and settings (- is standard input)."),
    ] = None,
    replace: Annotated[
        bool, Option("--replace", help="Change the settings of an existing one; its tasks keep running.")
    ] = False,
    by: By = "",
    note: Note = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Add a backend. The server keeps it across restarts.

    dovetail backend add lab --kind spool --set folder=/srv/spool

    Other users of this machine can read a command line: put secrets into a file and use --file. Paths of files and
    programs of the server stand in its settings file only.
    """
    entry = _from_file(file) if file is not None else {}
    if kind is not None:
        entry["kind"] = kind
    for assignment in settings or []:
        _assign(entry, assignment)
    if "kind" not in entry:
        raise Failure("say what it is: --kind KIND, or kind: in the file", ExitCode.USAGE)
    with connect(url) as client:
        row = client.add_backend(name, entry, replace=replace, by=by or login(), note=note)
    for words in row["notes"]:
        click.echo(words, err=True)
    show(row, output, lambda _: render.backends.one_backend(row, time.time()))


@command.action("remove")
def remove(
    name: BackendName,
    force: Annotated[
        bool, Option("--force", help="Even while tasks run there: they are stopped and placed elsewhere.")
    ] = False,
    by: By = "",
    note: Note = "",
    url: Url = None,
) -> None:
    """Remove a backend that was added, with its nodes. Refused while tasks run there."""
    with connect(url) as client:
        removed = client.remove_backend(name, force=force, by=by or login(), note=note)
    click.echo(f"backend {name} removed; nodes: {removed['nodes']}, tasks to be placed elsewhere: {removed['tasks']}")
    if removed["unconfirmed"]:
        words = "of these may still run there: the backend did not confirm that they were stopped"
        click.echo(f"{removed['unconfirmed']} {words}", err=True)


@command.action("history")
def history(name: BackendName, output: Output = Format.TABLE, url: Url = None) -> None:
    """When it was added, changed and removed, by whom and why. Also of a removed backend."""
    with connect(url) as client:
        rows, _ = every_page(lambda size, cursor: client.event_page(backend=name, after=cursor, limit=size), None)
    show(rows, output, lambda wide: render.backends.backend_history(name, rows, time.time(), wide))


def _from_file(path: Path) -> dict[str, Any]:
    from dovetail.cli.terminal.files import read_file
    from dovetail.model.text.complaint import Complaint, Invalid
    from dovetail.model.text.document import read_documents

    documents = read_documents(read_file(path), str(path))
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        words = "holds no single mapping; write kind: and the settings beside it"
        raise Invalid([Complaint(str(path), None, "", words)])
    return dict(documents[0].data)


def _assign(entry: dict[str, Any], assignment: str) -> None:
    """`hosts.a.url=tcp://…`: values read like YAML, as in settings."""
    from dovetail.model.text.document import read_documents

    field, equals, text = assignment.partition("=")
    if not equals or not field:
        raise Failure("--set takes FIELD=VALUE, such as folder=/srv/spool", ExitCode.USAGE)
    *parents, last = field.split(".")
    place = entry
    for parent in parents:
        inner = place.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise Failure(f"--set {field}: {parent} is not a mapping", ExitCode.USAGE)
        place = inner
    documents = read_documents(text, f"--set {field}") if text.strip() else []
    place[last] = documents[0].data if documents else ""
