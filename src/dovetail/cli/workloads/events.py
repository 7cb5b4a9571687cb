"""`dovetail events`: what happened, and what happens, with names."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, draw, say, show, write
from dovetail.cli.terminal.paging import every_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.past import Since, past_moment
from dovetail.cli.terminal.server import Url, check_name, connect
from dovetail.cli.terminal.trouble import say_trouble
from dovetail.client.following.reconnecting import RECONNECT_S

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.system import HistoryPage, HistoryRow

_SHOWN, _SHOWN_BEFORE_FOLLOWING = 50, 10


def command(
    name: Annotated[str | None, Argument(metavar="WORKLOAD", callback=check_name, help="Of this workload.")] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on with what happens; Ctrl-C ends it.")] = False,
    namespace: Annotated[
        str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="Of this namespace.")
    ] = None,
    replica: Annotated[int | None, Option("--replica", "-r", metavar="N", min=0, help="Of this task.")] = None,
    node: Annotated[str | None, Option(metavar="NODE", help="Of this node.")] = None,
    kind: Annotated[
        list[str] | None, Option("--kind", "-k", metavar="WORD", help="Such as failed, placed, node; may be repeated.")
    ] = None,
    since: Since = None,
    limit: Annotated[int | None, Option(metavar="N", min=1, help="The newest so many.  [default: 50]")] = None,
    everything: Annotated[bool, Option("--all", help="As many as there are.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What happened to workloads, nodes, policies and backends, the newest last.

    With --follow, the newest ten and then everything as it happens; with -o json each event is one line.
    """
    where: dict[str, Any] = {"workload": name, "namespace": namespace, "replica": replica, "node": node}
    where["kinds"] = kind or []
    started_at = past_moment("--since", since, time.time())
    most = limit or (_SHOWN_BEFORE_FOLLOWING if follow else _SHOWN)
    whole = everything or (since is not None and limit is None)
    with connect(url) as client:
        newest, more = every_page(
            lambda size, cursor: client.event_page(newest=True, before=cursor, since=started_at, limit=size, **where),
            None if whole else most,
        )
        rows = newest[::-1]
        if follow:
            _follow(client, rows, where, output)
            return
    page: HistoryPage = {"items": rows, "cursor": more}
    show(page, output, lambda wide: render.events.event_list(rows, time.time(), wide))
    if kind and not rows and not output.is_data:
        say(f"no event is of kind {', '.join(kind)}; the column KIND of dovetail events has those there are")
    if more is not None and not output.is_data:
        say(f"these are the newest {len(rows)}; --limit N or --all shows more")


def _follow(client: "Client", past: "Sequence[HistoryRow]", where: dict[str, Any], output: Format) -> None:
    after = past[-1]["seq"] if past else _newest(client)
    for row in past:
        _print(row, output)
    for row in client.events(after=after, reconnect_s=RECONNECT_S, on_trouble=say_trouble, **where):
        _print(row, output)


def _newest(client: "Client") -> int:
    found = client.event_page(newest=True, limit=1)["items"]
    return found[0]["seq"] if found else 0


def _print(row: "HistoryRow", output: Format) -> None:
    if output.is_data:
        import orjson

        write(orjson.dumps(row).decode() + "\n")
    else:
        draw(render.events.event_line(row, time.time()), wide=True)
