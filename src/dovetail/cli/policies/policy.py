"""`dovetail policy`: constraints with a name, applied to namespaces, services and workloads."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.terminal.authorship import By, Note
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.server import Url, check_name, connect
from dovetail.cli.workloads.submission import COMMAND_LINE, field_path, read_all

if TYPE_CHECKING:
    from dovetail.model.text.document import Document
    from dovetail.responses.policies import ChangedPolicy

command = default_group(
    "Constraints with a name, applied to many workloads; `policy` alone lists them, `policy NAME` shows one."
)


PolicyName = Annotated[str, typer.Argument(metavar="NAME", callback=check_name, help="The policy.")]
Namespaces = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", metavar="PATTERN", help="Everything in these, such as team-*; may be repeated."),
]
Services = Annotated[
    list[str] | None, typer.Option("--service", metavar="[NS/]NAME", help="This service; may be repeated.")
]
Workloads = Annotated[
    list[str] | None, typer.Option("--workload", metavar="[NS/]NAME", help="This workload; may be repeated.")
]


@command.command("list")
def list_policies(output: Output = Format.TABLE, url: Url = None) -> None:
    """Every policy: what it says, what it applies to, and whether it is adjusted now. `dovetail policy` does this."""
    with connect(url) as client:
        rows = client.policies()
    from dovetail.cli.render.policies import policy_list

    show(rows, output, lambda wide: policy_list(rows, wide))


@command.command("show")
def show_policy(
    name: PolicyName,
    version: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="As it was in this version, instead of as it counts now.")
    ] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """One policy as it counts now: each constraint, and why it differs from what was written."""
    from dovetail.cli.render.policies import one_policy, one_version

    with connect(url) as client:
        if version is not None:
            old = client.policy_version(name, version)
            show(old, output, lambda _: one_version(old, time.time()))
            return
        row = client.policy(name)
    show(row, output, lambda _: one_policy(row, time.time()))


@command.command("set")
def set_policy(
    what: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A file (- is standard input), or a name.")],
    require: Annotated[str | None, typer.Option(metavar="EXPR", help="NAME: what must hold of a node.")] = None,
    prefer: Annotated[str | None, typer.Option(metavar="EXPR", help="NAME: what should hold.")] = None,
    avoid: Annotated[str | None, typer.Option(metavar="EXPR", help="NAME: what should not hold.")] = None,
    weight: Annotated[float | None, typer.Option(metavar="0-1", help="How much prefer or avoid counts.")] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="Required until nothing fits; the lowest is dropped first.")
    ] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    namespace: Namespaces = None,
    service: Services = None,
    workload: Workloads = None,
    by: By = "",
    note: Note = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Create a policy, or a new version of it. Pending work is reconsidered. Running tasks keep running; those that
    violate the policy are listed.

    dovetail policy set rules.yaml

    dovetail policy set nvme-only --require 'node.labels.disk == "nvme"' -n 'db-*'
    """
    given = {"require": require, "prefer": prefer, "avoid": avoid, "weight": weight, "priority": priority}
    if any(value is not None for value in (require, prefer, avoid)):
        reach = _reach(namespace, service, workload)
        fields = {"name": what, "description": description, **given, "applies_to": reach or None}
        policy = {name: value for name, value in fields.items() if value is not None}
        _send([(COMMAND_LINE, policy)], by, note, output, url)
        return
    if any(value is not None for value in (*given.values(), description, namespace, service, workload)):
        words = "with --require, --prefer or --avoid the policy is written here; a file says everything itself"
        raise Failure(words, ExitCode.USAGE)
    _send_file(what, by, note, output, url)


def _send_file(source: str, by: str, note: str, output: Format, url: str | None) -> None:
    """Check all policies here first, so that every mistake has its line; send all of them or none."""
    from dovetail.model.text.complaint import Complaint, Invalid

    complaints: list[Complaint] = []
    documents = [document for _, found in read_all([source], _policies_in, complaints) for document in found]
    if complaints:
        raise Invalid(complaints)
    if not documents:
        raise Invalid([Complaint(source, None, "", "holds no policy")])
    _send([(document, document.data) for document in documents], by, note, output, url)


def _policies_in(text: bytes, source: str) -> "list[Document]":
    """The policies of a file, one a document, checked as far as possible without the server."""
    from dovetail.model.policy import Policy
    from dovetail.model.text.document import read_documents
    from dovetail.model.text.reading import check_documents

    found = [item for document in read_documents(text, source) for item in document.items()]
    check_documents(Policy, found)
    return found


def _send(
    policies: "Sequence[tuple[Document | str, Any]]", by: str, note: str, output: Format, url: str | None
) -> None:
    made: list[ChangedPolicy] = []
    with connect(url) as client:
        for where, policy in policies:
            with _located(where):
                made.append(client.set_policy(policy, by=by, note=note))
    _show_changes(made, output)


def _show_changes(made: "list[ChangedPolicy]", output: Format) -> None:
    from dovetail.cli.render.policies import changed_policies

    show(made[0] if len(made) == 1 else made, output, lambda wide: changed_policies(made, wide))


@contextmanager
def _located(where: "Document | str") -> Iterator[None]:
    """Turn complaints of the server about a policy into complaints about its file and line."""
    from dovetail.client import DovetailError
    from dovetail.model.text.complaint import Invalid

    try:
        yield
    except ValueError as error:  # the name makes no address
        raise Failure(str(error), ExitCode.USAGE) from None
    except DovetailError as error:
        if not error.complaints:
            raise
        if isinstance(where, str):
            raise Invalid([replace(one, source=where) for one in error.complaints]) from None
        lines = [where.line_of(field_path(one.field)) for one in error.complaints]
        found = zip(error.complaints, lines, strict=True)
        raise Invalid([replace(one, source=where.source, line=line) for one, line in found]) from None


@command.command("history")
def history(name: PolicyName, output: Output = Format.TABLE, url: Url = None) -> None:
    """Every version: when, by whom, and which fields changed. Also of a policy that was deleted."""
    with connect(url) as client:
        rows = client.policy_versions(name)
    from dovetail.cli.render.policies import version_list

    show(rows, output, lambda wide: version_list(rows, time.time(), wide))


@command.command("attach")
def attach(
    name: PolicyName,
    namespace: Namespaces = None,
    service: Services = None,
    workload: Workloads = None,
    by: By = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Let it apply to more: dovetail policy attach nvme-only --namespace 'db-*' --service shop/cart"""
    reach = _some(_reach(namespace, service, workload))
    with connect(url) as client:
        made = client.attach_policy(name, **reach, by=by)
    _show_changes([made], output)


@command.command("detach")
def detach(
    name: PolicyName,
    namespace: Namespaces = None,
    service: Services = None,
    workload: Workloads = None,
    by: By = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Let it no longer apply to these, written as they were attached."""
    reach = _some(_reach(namespace, service, workload))
    with connect(url) as client:
        made = client.detach_policy(name, **reach, by=by)
    _show_changes([made], output)


@command.command("delete")
def delete(name: PolicyName, by: By = "", note: Note = "", url: Url = None) -> None:
    """Delete a policy. Refused while unfinished work names it; its history stays."""
    with connect(url) as client:
        client.remove_policy(name, by=by, note=note)
    typer.echo(f"policy {name} deleted")


@command.command("violations")
def violations(name: PolicyName, output: Output = Format.TABLE, url: Url = None) -> None:
    """The tasks that run where the policy does not allow it now. Exit code 1 when there is any."""
    with connect(url) as client:
        rows = client.policy_violations(name)
    from dovetail.cli.render.policies import violation_list

    show(rows, output, lambda wide: violation_list(rows, wide))
    if rows:
        raise typer.Exit(ExitCode.FAILED)


def _reach(
    namespaces: list[str] | None, services: list[str] | None, workloads: list[str] | None
) -> dict[str, list[str]]:
    given = {"namespaces": namespaces, "services": services, "workloads": workloads}
    return {kind: places for kind, places in given.items() if places}


def _some(reach: dict[str, list[str]]) -> Any:
    if not reach:
        raise Failure("say what to: --namespace PATTERN, --service NAME or --workload NAME", ExitCode.USAGE)
    return reach
