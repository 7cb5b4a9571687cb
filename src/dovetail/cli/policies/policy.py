"""`dovetail policy`: constraints with a name, applied to namespaces, services and workloads."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import COMMAND_LINE, ExitCode, Failure
from dovetail.cli.terminal.files import as_in, field_path, located, read_all
from dovetail.cli.terminal.options import By, Limit, Note, Search, sorts_by
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.paging import show_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, check_name, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.model.text.complaint import Complaint
    from dovetail.model.text.document import Document
    from dovetail.responses.policies import ChangedPolicy

command = default_group(
    "Constraints with a name, applied to many workloads; `policy` alone lists them, `policy NAME` shows one."
)


PolicyName = Annotated[str, Argument(metavar="POLICY", callback=check_name, help="The policy.")]
Namespaces = Annotated[
    list[str] | None,
    Option("--namespace", "-n", metavar="PATTERN", help="Everything in these, such as team-*; may be repeated."),
]
Services = Annotated[list[str] | None, Option("--service", metavar="[NS/]NAME", help="This service; may be repeated.")]
Workloads = Annotated[
    list[str] | None,
    Option("--workload", metavar="[NS/]NAME", help="This workload; may be repeated.", completes="workloads"),
]


@command.action("list")
def list_policies(
    sort: Annotated[str, sorts_by("name", "version", "workloads", "set_at")] = "",
    search: Search = "",
    limit: Limit = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Every policy: what it says, what it applies to, and whether it is adjusted now. `dovetail policy` does this."""
    with connect(url) as client:
        page = client.policy_page(search=search, sort=sort, limit=limit)
    show_page(page, output, render.policies.policy_list, "policy", search=search, plural="policies")


@command.action("show")
def show_policy(
    name: PolicyName,
    version: Annotated[
        int | None, Option(metavar="N", min=1, help="As it was in this version, instead of as it counts now.")
    ] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """One policy as it counts now: each constraint, and why it differs from what was written."""
    with connect(url) as client:
        if version is not None:
            old = client.policy_version(name, version)
            show(old, output, lambda _: render.policies.one_version(old, time.time()))
            return
        row = client.policy(name)
    show(row, output, lambda _: render.policies.one_policy(row, time.time()))


@command.action("set")
def set_policy(
    what: Annotated[str, Argument(metavar="FILE|NAME", help="A file (- is standard input), or a name.")],
    require: Annotated[str | None, Option(metavar="EXPR", help="NAME: what must hold of a node.")] = None,
    prefer: Annotated[str | None, Option(metavar="EXPR", help="NAME: what should hold.")] = None,
    avoid: Annotated[str | None, Option(metavar="EXPR", help="NAME: what should not hold.")] = None,
    weight: Annotated[float | None, Option(metavar="0-1", help="How much prefer or avoid counts.")] = None,
    priority: Annotated[
        int | None, Option(metavar="N", help="Required until nothing fits; the lowest is dropped first.")
    ] = None,
    description: Annotated[str | None, Option(metavar="TEXT", help="What it is for.")] = None,
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
        scope = _scope(namespace, service, workload)
        fields = {"name": what, "description": description, **given, "applies_to": scope or None}
        written = {name: value for name, value in fields.items() if value is not None}
        policies = [PolicyToSend(written, as_in(COMMAND_LINE))]
    elif any(value is not None for value in (*given.values(), description, namespace, service, workload)):
        words = "with --require, --prefer or --avoid the policy is written here; a file says everything itself"
        raise Failure(words, ExitCode.USAGE)
    else:  # all policies are checked here first, so that every mistake has its line
        policies = read_all([what], _policies_in)
        if not policies:
            raise Failure(f"{what}: holds no policy", ExitCode.USAGE)
    with connect(url) as client:
        made = [_send(client, policy, by, note) for policy in policies]
    _show_changes(made, output)


class PolicyToSend(NamedTuple):
    """`locate` finds the place of a complaint of the server."""

    written: dict[str, Any]
    locate: "Callable[[Complaint], Complaint]"


def _policies_in(text: bytes, source: str) -> list[PolicyToSend]:
    """The policies of a file, one a document, checked as far as possible without the server."""
    from dovetail.model.policy import Policy
    from dovetail.model.text.document import read_documents
    from dovetail.model.text.reading import check_documents

    found = [item for document in read_documents(text, source) for item in document.items()]
    check_documents(Policy, found)
    return [PolicyToSend(cast("dict[str, Any]", document.data), partial(_located_in, document)) for document in found]


def _located_in(policy: "Document", complaint: "Complaint") -> "Complaint":
    return replace(complaint, source=policy.source, line=policy.line_of(field_path(complaint.field)))


def _send(client: "Client", policy: PolicyToSend, by: str, note: str) -> "ChangedPolicy":
    try:
        with located(policy.locate):
            return client.set_policy(policy.written, by=by, note=note)
    except ValueError as error:  # the name makes no address
        raise Failure(str(error), ExitCode.USAGE) from None


def _show_changes(made: "list[ChangedPolicy]", output: Format) -> None:
    show(made[0] if len(made) == 1 else made, output, lambda wide: render.policies.changed_policies(made, wide))


@command.action("history")
def history(name: PolicyName, output: Output = Format.TABLE, url: Url = None) -> None:
    """Every version: when, by whom, and which fields changed. Also of a policy that was deleted."""
    with connect(url) as client:
        rows = client.policy_versions(name)
    show(rows, output, lambda wide: render.policies.version_list(rows, time.time(), wide))


def _change_scope(change: "Callable[[Client], Callable[..., ChangedPolicy]]") -> Callable[..., None]:
    """`attach` and `detach` differ only in what they ask of the client."""

    def changed(
        name: PolicyName,
        namespace: Namespaces = None,
        service: Services = None,
        workload: Workloads = None,
        by: By = "",
        output: Output = Format.TABLE,
        url: Url = None,
    ) -> None:
        scope = _scope(namespace, service, workload)
        if not scope:
            raise Failure("say what to: --namespace PATTERN, --service NAME or --workload NAME", ExitCode.USAGE)
        with connect(url) as client:
            made = change(client)(name, **scope, by=by)
        _show_changes([made], output)

    return changed


_ATTACH = "Let it apply to more: dovetail policy attach nvme-only --namespace 'db-*' --service shop/cart"
_DETACH = "Let it no longer apply to these, written as they were attached."
command.action("attach", _ATTACH)(_change_scope(lambda client: client.attach_policy))
command.action("detach", _DETACH)(_change_scope(lambda client: client.detach_policy))


@command.action("delete")
def delete(name: PolicyName, by: By = "", note: Note = "", url: Url = None) -> None:
    """Delete a policy. Refused while unfinished work names it; its history stays."""
    with connect(url) as client:
        client.remove_policy(name, by=by, note=note)
    click.echo(f"policy {name} deleted")


@command.action("violations")
def violations(name: PolicyName, output: Output = Format.TABLE, url: Url = None) -> None:
    """The tasks that run where the policy does not allow it now. Exit code 1 when there is any."""
    with connect(url) as client:
        rows = client.policy_violations(name)
    show(rows, output, lambda wide: render.policies.violation_list(rows, wide))
    if rows:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _scope(
    namespaces: list[str] | None, services: list[str] | None, workloads: list[str] | None
) -> dict[str, list[str]]:
    given = {"namespaces": namespaces, "services": services, "workloads": workloads}
    return {kind: places for kind, places in given.items() if places}
