"""`dovetail cost`: what work has cost, a report of a month, and what the month will have cost."""

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import Format, Output, say, show, write
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.past import past_moment
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

command = default_group("What work has cost, a report of a month, and what the month will have cost.")

_SHOWN = 50
_DAYS = "a day such as 2026-11-03, or 7d ago"
Month = Annotated[str | None, Option(metavar="MONTH", help="Such as 2026-11.  [default: this one]")]


class CostView(StrEnum):
    WORKLOAD = "workload"
    USER = "user"
    NAMESPACE = "namespace"
    QUEUE = "queue"
    NODE = "node"
    BACKEND = "backend"


class CostFormat(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    CSV = "csv"
    JSON = "json"
    YAML = "yaml"


@command.action("list")
def list_costs(
    by: Annotated[
        CostView, Option("--by", metavar="WHAT", help="workload, user, namespace, queue, node or backend.")
    ] = CostView.NAMESPACE,
    month: Month = None,
    since: Annotated[str | None, Option(metavar="DAY", help=f"The first day: {_DAYS}.")] = None,
    until: Annotated[str | None, Option(metavar="DAY", help="The last day.  [default: today]")] = None,
    user: Annotated[str | None, Option("--user", "-u", metavar="NAME", help="Of this user.")] = None,
    queue: Annotated[
        str | None, Option("--queue", "-q", metavar="QUEUE", help="Of this queue and those below.")
    ] = None,
    namespace: Annotated[
        str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="Of this namespace.")
    ] = None,
    limit: Annotated[
        int | None, Option(metavar="N", min=1, max=1000, help="The largest so many of each currency.")
    ] = None,
    output: Annotated[
        CostFormat, Option("--output", "-o", metavar="FORMAT", help="table, wide, csv, json or yaml.")
    ] = CostFormat.TABLE,
    url: Url = None,
) -> None:
    """What work has cost this month, the largest first. `dovetail cost` does this.

    A task pays for its share of its node for as long as it holds it. What nobody used is idle. Days and months are
    those of UTC. Without --limit, tables show the largest 50 of each currency, other formats the largest 1000.
    """
    drawn = output in (CostFormat.TABLE, CostFormat.WIDE)
    with connect(url) as client:
        page = client.costs(
            str(by),
            month=month,
            since=_day("--since", since),
            until=_day("--until", until, after=True),
            namespace=namespace,
            user=user,
            queue=queue,
            limit=limit or (_SHOWN if drawn else None),
        )
    if output is CostFormat.CSV:
        write(_csv([render.cost.CSV_COLUMNS, *(render.cost.csv_row(page["by"], row) for row in page["items"])]))
        if page["left_off"]:
            say(f"these are the largest; {page['left_off']} smaller ones are left off")
    else:
        show(page, Format(output), lambda wide: render.cost.cost_list(page, wide))


def _day(option: str, text: str | None, *, after: bool = False) -> str | None:
    """In UTC; `after`: the day after it. Raises Failure."""
    from dovetail.accounting.days import day_of, next_day, read_day

    if text is None:
        return None
    try:
        day = read_day(text)
    except ValueError:
        at = past_moment(option, text, time.time())
        assert at is not None
        day = day_of(at)
    return next_day(day) if after else day


def _csv(rows: "Iterable[Sequence[object]]") -> str:
    import csv
    from io import StringIO

    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@command.action("report")
def report(
    month: Month = None,
    to: Annotated[
        Path | None,
        Option("--to", "-o", metavar="FILE", help="report.html or report.csv.  [default: CSV to stdout]"),
    ] = None,
    url: Url = None,
) -> None:
    """A month as one file: dovetail cost report --month 2026-11 -o report.html

    The HTML file is complete in itself: it has no scripts and loads nothing.
    """
    if to is not None and to.suffix not in (".html", ".csv"):
        raise Failure(f"{to}: name a file that ends in .html or .csv", ExitCode.USAGE)
    with connect(url) as client:
        found = client.cost_report(month)
    if to is not None and to.suffix == ".html":
        text = render.cost_report.html(found)
    else:
        text = _csv([render.cost.REPORT_COLUMNS, *render.cost.report_rows(found)])
    if to is None:
        write(text)
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{to} cannot be written: {error.strerror}") from None
    say(f"{found['month']}: {render.cost.sums_in_words(found['totals'])}; written to {to}")


@command.action("forecast")
def forecast(
    namespace: Annotated[
        str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="The work of this namespace.  [default: all]")
    ] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What this month will have cost at its end, with a range that should hold in four of five months.

    The rest of today goes on as now; each day after it costs the mean of the last seven.
    """
    with connect(url) as client:
        found = client.cost_forecast(namespace)
    show(found, output, lambda wide: render.cost.forecast(found, wide))
