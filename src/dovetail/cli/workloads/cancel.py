"""`dovetail cancel`: stop workloads, by name or all that are meant."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli.terminal.failure import ExitCode, Failure, told
from dovetail.cli.terminal.named import typed_name
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import WORKLOADS_HELP, Namespace, Url, check_name, connect
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.client import Client

_UNFINISHED = ("pending", "starting", "running")
_NAMED = 20  # more workloads than this are not all named


def command(
    names: Annotated[list[str] | None, Argument(metavar="WORKLOAD", callback=check_name, help=WORKLOADS_HELP)] = None,
    match: Annotated[str | None, Option(metavar="GLOB", help="All whose name matches, such as 'train-*'.")] = None,
    user: Annotated[str | None, Option(metavar="NAME", help="All of this user.")] = None,
    state: Annotated[str | None, Option(metavar="STATE", help="All that are pending, starting, running.")] = None,
    queue: Annotated[str | None, Option("--queue", "-q", metavar="PATH", help="All of this queue.")] = None,
    namespace: Namespace = None,
    all_namespaces: Annotated[bool, Option("--all-namespaces", "-A", help="In every namespace.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say which.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before many are cancelled.")] = False,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Kept in its history.")] = None,
    force: Annotated[bool, Option("--force", help="Kill running tasks at once, without their grace period.")] = False,
    url: Url = None,
) -> None:
    """Cancel workloads: running tasks are stopped, pending tasks are dropped.

    By name: all are tried, even if one fails; a service is removed, with its replicas. With --match, --user, --state or
    --queue: all unfinished workloads for which everything given holds. It says which, and asks before it does it,
    unless there is --yes.
    """
    wanted = {"match": match, "user": user, "state": state, "queue": queue}
    selecting = any(value is not None for value in wanted.values())
    if bool(names) == selecting:
        words = "say which: names, or --match, --user, --state or --queue"
        raise Failure(words if not names else f"{words}, not both", ExitCode.USAGE)
    if state not in (None, *_UNFINISHED):
        raise Failure(f"--state {state}: write {', '.join(_UNFINISHED)}", ExitCode.USAGE)
    how = {"reason": reason, "force": force}
    with connect(url) as client:
        if names:
            _cancel_named(client, names, namespace, how, dry_run=dry_run)
        else:
            where = wanted | {"namespace": None if all_namespaces else namespace or "default"}
            _cancel_selected(client, where, how, dry_run=dry_run, yes=yes)


def _cancel_named(
    client: "Client", names: list[str], namespace: str | None, how: dict[str, Any], *, dry_run: bool
) -> None:
    from dovetail.client import DovetailError

    code = ExitCode.DONE
    for name in names:
        try:
            words = _would_stop(client, name, namespace) if dry_run else "asked to stop"
            if not dry_run:
                client.cancel(name, namespace, **how)
        except DovetailError as error:
            lines, found = told(error)
            code = code or found
            say("\n".join(lines))
        else:
            click.echo(f"{name}: {words}")
    if code:
        raise click.exceptions.Exit(code)


def _would_stop(client: "Client", name: str, namespace: str | None) -> str:
    from dovetail.client import DovetailError

    try:
        service = client.service(name, namespace=namespace)
    except DovetailError as error:
        if error.status != 404:
            raise
    else:
        return f"is a service; it would be removed, with {count(len(service['items']), 'replica')}"
    row = client.workload(name, namespace)
    return (
        f"is already finished: it {row['state']}"
        if row["finished_at"]
        else f"would be asked to stop; is {row['state']}"
    )


def _cancel_selected(client: "Client", where: dict[str, Any], how: dict[str, Any], *, dry_run: bool, yes: bool) -> None:
    found = client.cancel_selected(**where, dry_run=True)
    if not found:
        say("no unfinished workload is like that; nothing was cancelled")
        return
    names = [typed_name(row) for row in found]
    for name in names if dry_run else names[:_NAMED]:
        click.echo(name)
    if len(names) > _NAMED and not dry_run:
        click.echo(f"and {len(names) - _NAMED} more; --dry-run names all")
    number = count(len(names), "workload")
    if dry_run:
        say(f"{number} would be cancelled")
        return
    if not yes:
        _confirm(number)
    asked = client.cancel_selected(**where, ids=[row["id"] for row in found], **how)
    say(f"{count(len(asked), 'workload')} asked to stop")


def _confirm(number: str) -> None:
    import sys

    if not sys.stdin.isatty():
        raise Failure(f"nothing was cancelled: add --yes to cancel {number}", ExitCode.USAGE)
    if not click.confirm(f"cancel {number}?", err=True):
        raise Failure("nothing was cancelled")
