"""`dovetail get`: lists, and workloads by name."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from dovetail.cli import render
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.named import refs
from dovetail.cli.terminal.output import Format, Output, draw, say, show, write
from dovetail.cli.terminal.paging import every_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, check_name, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.workloads import WorkloadPage

#: What is only listed as a whole, by the name of the client's method, and how it is drawn.
OTHERS: dict[str, Callable[[Any, bool], Any]] = {
    "queues": lambda found, wide: render.queues.queue_tree(found, wide),
    "queue": lambda found, wide: render.queues.queue_list(found, time.time(), wide),
    "reservations": lambda found, wide: render.reservations.reservation_list(found, time.time(), wide),
    "policies": lambda found, wide: render.policies.policy_list(found, wide),
    "profiles": lambda found, wide: render.profiles.profile_list(found, wide),
}
KINDS = ("workloads", "nodes", *OTHERS)
#: The command that has options for a list, where it is not called like it.
_COMMANDS = {"reservations": "reserve", "policies": "policy"}


def get(
    what: Annotated[
        list[str] | None,
        Argument(
            metavar="KIND|WORKLOAD",
            callback=check_name,
            help=f"{', '.join(KINDS)}, or workloads.",
            completes="workloads",
            words=KINDS,
        ),
    ] = None,
    namespace: Annotated[str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="Only this one.")] = None,
    state: Annotated[
        str | None,
        Option(metavar="STATE", help="pending, starting, running, succeeded, failed, cancelled; several with commas."),
    ] = None,
    user: Annotated[str | None, Option(metavar="NAME", help="Of this user.")] = None,
    service: Annotated[str | None, Option(metavar="NAME", help="Of this service.")] = None,
    priority: Annotated[str | None, Option(metavar="WORD", help="critical, high, medium, low, batch.")] = None,
    match: Annotated[
        str | None, Option("--match", "--search", metavar="TEXT", help="Whose name contains this.")
    ] = None,
    queue: Annotated[str | None, Option(metavar="QUEUE", help="In this queue, or one below it.")] = None,
    sort: Annotated[
        str | None,
        Option(metavar="COLUMN", help="name, namespace, queue, submitted, state, wait, priority; -COLUMN: descending."),
    ] = None,
    unfinished: Annotated[bool, Option("--unfinished", "-u", help="Only what has not ended.")] = False,
    limit: Annotated[int, Option(metavar="N", min=1, help="How many at most.")] = 50,
    everything: Annotated[bool, Option("--all", help="As many as there are.")] = False,
    cursor: Annotated[str | None, Option(metavar="TEXT", help="Go on where the last page ended.")] = None,
    watch: Annotated[bool, Option("--watch", "-w", help="Go on with workloads that change; Ctrl-C ends it.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """List workloads, newest first or sorted, or show some by name.

    `dovetail get` lists workloads, `dovetail get NAME` shows one, `dovetail get nodes` lists nodes. The replicas of a
    service are one row; -o wide, --all and --service list each.
    """
    kind, names = _asked(what or [])
    where: dict[str, Any] = {
        "namespace": namespace,
        "state": state,
        "user": user,
        "service": service,
        "priority": priority,
        "name": match,
        "queue": queue,
        "unfinished": unfinished,
        "sort": sort,
    }
    if watch and kind != "workloads":
        raise Failure("--watch shows workloads; for the whole cluster see: dovetail top", ExitCode.USAGE)
    if kind != "workloads":
        _refuse_filters(kind, {**where, "cursor": cursor})
    with connect(url) as client:
        if kind != "workloads":
            _list_other(client, kind, names, output)
            return
        rows = partial(_named, client, names, namespace)
        page = partial(_page, client, where, None if everything else limit, cursor)
        if watch:
            _watch(client, rows if names else lambda: page()["items"], output)
        elif names:
            _show_named(rows(), output)
        else:
            _show_page(page(), output, folds=not everything and service is None)


def _page(client: "Client", where: dict[str, Any], most: int | None, cursor: str | None) -> "WorkloadPage":
    items, more = every_page(lambda size, after: client.workloads(limit=size, cursor=after, **where), most, cursor)
    return {"items": items, "cursor": more}


def _show_page(page: "WorkloadPage", output: Format, folds: bool) -> None:
    """`folds`: a service is one row, except in a wide table."""
    more, drawn = page["cursor"], page["items"]
    if folds and output is Format.TABLE:
        drawn = render.replicas.services_folded(drawn)
    show(page, output, lambda wide: render.workloads.workload_list(drawn, time.time(), wide, more is not None))
    if more is not None and not output.is_data:
        say(f"there are more: --all shows all, --limit N more of them, --cursor {more} the next page")


def _watch(client: "Client", rows: Callable[[], list[Any]], output: Format) -> None:
    """Rows as tables of one width, or with `-o json` as lines of JSON."""
    from dovetail.cli.terminal.watching import watched

    first: list[Any] | None = None
    wide = output is Format.WIDE
    for changed in watched(client, rows, client.workload, render.workloads.what_counts):
        if output.is_data:
            import orjson

            write("".join(f"{orjson.dumps(row).decode()}\n" for row in changed))
        elif first is None:
            first = changed
            draw(render.workloads.workload_list(changed, time.time(), wide), wide)
        else:
            draw(render.workloads.further_rows(first, changed, time.time(), wide), wide)


def _asked(what: list[str]) -> tuple[str, list[str]]:
    if not what:
        return "workloads", []
    for kind in KINDS:
        if what[0] == kind or (what[0] == kind.removesuffix("s") and what[0] not in KINDS):
            return kind, what[1:]
    return "workloads", what


def _named(client: "Client", names: list[str], namespace: str | None) -> list[Any]:
    return [client.workload(ref) for name in names for ref in refs(client, name, namespace)]


def _show_named(rows: list[Any], output: Format) -> None:
    one_or_all = rows[0] if len(rows) == 1 else rows
    show(one_or_all, output, lambda wide: render.workloads.workload_list(rows, time.time(), wide))


def _refuse_filters(kind: str, given: dict[str, Any]) -> None:
    """An option that would do nothing is a mistake."""
    for name, value in given.items():
        if value:
            option = "--match" if name == "name" else f"--{name}"
            words = f"{option} chooses among workloads; what the list of {kind} takes:"
            raise Failure(f"{words} dovetail {_COMMANDS.get(kind, kind)} --help", ExitCode.USAGE)


def _list_other(client: "Client", kind: str, names: list[str], output: Format) -> None:
    if kind == "nodes":
        nodes: list[Any] = [client.node(name) for name in names] if names else list(client.nodes())
        show(nodes[0] if len(names) == 1 else nodes, output, lambda wide: render.nodes.node_list(nodes, wide))
        return
    if names:
        raise Failure(f"{kind} are only listed as a whole; leave out {names[0]!r}", ExitCode.USAGE)
    found = getattr(client, kind)()
    show(found, output, lambda wide: OTHERS[kind](found, wide))
