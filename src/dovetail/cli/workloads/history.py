"""`dovetail history`: which workloads ran, and what they used, as `sacct` shows it."""

import time
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, say, show, write
from dovetail.cli.terminal.paging import every_page
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.past import ACCEPTED, past_moment
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.responses.workloads import UsagePage, UsageRow

_SHOWN = 50


class HistoryFormat(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    CSV = "csv"
    JSON = "json"
    YAML = "yaml"


def command(
    since: Annotated[str, Option(metavar="TIME", help=f"From when on: {ACCEPTED}.")] = "24h",
    until: Annotated[str | None, Option(metavar="TIME", help="Until when.  [default: now]")] = None,
    user: Annotated[str | None, Option("--user", "-u", metavar="NAME", help="Of this user.")] = None,
    queue: Annotated[
        str | None, Option("--queue", "-q", metavar="QUEUE", help="Of this queue and those below.")
    ] = None,
    namespace: Annotated[
        str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="Of this namespace.")
    ] = None,
    state: Annotated[
        str | None, Option(metavar="STATE", help="pending, starting, running, succeeded, failed, cancelled.")
    ] = None,
    match: Annotated[str | None, Option(metavar="TEXT", help="Whose name contains this.")] = None,
    truncate: Annotated[
        bool, Option("--truncate", "-T", help="Count only what was used between --since and --until.")
    ] = False,
    limit: Annotated[int | None, Option(metavar="N", min=1, help="The newest so many.  [default: 50]")] = None,
    everything: Annotated[bool, Option("--all", help="As many as there are.")] = False,
    output: Annotated[
        HistoryFormat, Option("--output", "-o", metavar="FORMAT", help="table, wide, csv, json or yaml.")
    ] = HistoryFormat.TABLE,
    url: Url = None,
) -> None:
    """Workloads that waited or ran since a time, newest first, with the CPU-hours and GPU-hours that they used.

    Hours count while tasks run, for every task and every attempt, and not while they wait. The total is that of all
    workloads, also of those that --limit leaves out. CSV, JSON and YAML hold all of them unless --limit says otherwise.
    """
    now = time.time()
    where = {
        "since": past_moment("--since", since, now),
        "until": past_moment("--until", until, now),
        "user": user,
        "queue": queue,
        "namespace": namespace,
        "state": state,
        "name": match,
        "truncate": truncate,
    }
    drawn = output in (HistoryFormat.TABLE, HistoryFormat.WIDE)
    most = limit if limit is not None else (_SHOWN if drawn and not everything else None)
    pages: list[UsagePage] = []
    with connect(url) as client:

        def ask(size: int, cursor: str | None) -> "UsagePage":
            pages.append(client.usage(limit=size, cursor=cursor, **where))  # type: ignore[arg-type]
            return pages[-1]

        rows, more = every_page(ask, most)
    found: UsagePage = {"items": rows, "cursor": more, "total": pages[0]["total"]}
    if output is HistoryFormat.CSV:
        _write_csv(rows, now)
        return
    show(found, Format(output), lambda wide: render.usage.usage_list(found, now, wide))
    if more is not None:
        say(f"these are the newest {len(rows)} of {found['total']['workloads']}; --limit N or --all shows more")


def _write_csv(rows: "Iterable[UsageRow]", now: float) -> None:
    import csv
    from io import StringIO

    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(render.usage.CSV_COLUMNS)
    table.writerows(render.usage.csv_row(row, now) for row in rows)
    write(text.getvalue())
