"""`dovetail get` and `dovetail describe`: lists, workloads by name, and everything about one of them."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from dovetail.cli import render
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.named import refs, show_each
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, check_name, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.combined import WorkloadDescription

#: What is only listed as a whole, by the name of the client's method, and how it is drawn.
OTHERS: dict[str, Callable[[Any, bool], Any]] = {
    "queues": lambda found, wide: render.queues.queue_tree(found, wide),
    "queue": lambda found, wide: render.queues.queue_list(found, time.time(), wide),
    "reservations": lambda found, wide: render.reservations.reservation_list(found, time.time(), wide),
    "policies": lambda found, wide: render.policies.policy_list(found, wide),
    "profiles": lambda found, wide: render.profiles.profile_list(found, wide),
}
KINDS = ("workloads", "nodes", *OTHERS)
_WHAT = f"{', '.join(KINDS)}, or workloads."
_TASKS_DESCRIBED = 20
_HISTORY_DESCRIBED = 200


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
        str | None, Option(metavar="STATE", help="pending, starting, running, succeeded, failed, cancelled.")
    ] = None,
    user: Annotated[str | None, Option(metavar="NAME", help="Of this user.")] = None,
    service: Annotated[str | None, Option(metavar="NAME", help="Of this service.")] = None,
    priority: Annotated[str | None, Option(metavar="WORD", help="critical, high, medium, low, batch.")] = None,
    match: Annotated[str | None, Option(metavar="TEXT", help="Whose name contains this.")] = None,
    unfinished: Annotated[bool, Option("--unfinished", "-u", help="Only what has not ended.")] = False,
    limit: Annotated[int, Option(metavar="N", min=1, max=1000, help="How many at most.")] = 50,
    cursor: Annotated[str | None, Option(metavar="TEXT", help="Go on where the last page ended.")] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """List workloads, newest first, or show some by name.

    `dovetail get` lists workloads, `dovetail get NAME` shows one, `dovetail get nodes` lists nodes.
    """
    kind, names = _asked(what or [])
    with connect(url) as client:
        if kind != "workloads":
            _list_other(client, kind, names, output)
        elif names:
            _show_named(client, names, namespace, output)
        else:
            page = client.workloads(
                namespace=namespace,
                state=state,
                user=user,
                service=service,
                priority=priority,
                name=match,
                unfinished=unfinished,
                limit=limit,
                cursor=cursor,
            )
            more = page["cursor"]
            drawn = page["items"]
            show(page, output, lambda wide: render.workloads.workload_list(drawn, time.time(), wide, more is not None))
            if more is not None and not output.is_data:
                say(f"there are more: add --cursor {more} for the next page, or --limit for a longer one")


def _asked(what: list[str]) -> tuple[str, list[str]]:
    if not what:
        return "workloads", []
    for kind in KINDS:
        if what[0] == kind or (what[0] == kind.removesuffix("s") and what[0] not in KINDS):
            return kind, what[1:]
    return "workloads", what


def _show_named(client: "Client", names: list[str], namespace: str | None, output: Format) -> None:
    rows: list[Any] = [client.workload(ref) for name in names for ref in refs(client, name, namespace)]
    one_or_all = rows[0] if len(rows) == 1 else rows
    show(one_or_all, output, lambda wide: render.workloads.workload_list(rows, time.time(), wide))


def _list_other(client: "Client", kind: str, names: list[str], output: Format) -> None:
    if kind == "nodes":
        nodes: list[Any] = [client.node(name) for name in names] if names else list(client.nodes())
        show(nodes[0] if len(names) == 1 else nodes, output, lambda wide: render.nodes.node_list(nodes, wide))
        return
    if names:
        raise Failure(f"{kind} are only listed as a whole; leave out {names[0]!r}", ExitCode.USAGE)
    found = getattr(client, kind)()
    show(found, output, lambda wide: OTHERS[kind](found, wide))


def describe(name: WorkloadName, namespace: Namespace = None, output: Output = Format.TABLE, url: Url = None) -> None:
    """Everything about one workload: timeline, tasks, the latest decision, history."""
    with connect(url) as client:
        described = [_description(client, ref) for ref in refs(client, name, namespace)]
    now = time.time()
    show_each(described, output, lambda whole, wide: render.description.description(**whole, now=now, wide=wide))


def _description(client: "Client", ref: str) -> "WorkloadDescription":
    return {
        "workload": client.workload(ref),
        "tasks": client.tasks(ref, limit=_TASKS_DESCRIBED),
        "decisions": client.decisions(ref, limit=1),
        "history": client.history(ref, limit=_HISTORY_DESCRIBED),
    }
