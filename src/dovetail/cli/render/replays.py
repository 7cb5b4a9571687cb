"""A replayed day: what came out the same, what another profile would have done, totals side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.cli.render.parts.bars import bar
from dovetail.cli.render.parts.table import Header, Listing, TableColumn, and_more, grid, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment
from dovetail.model.text.listing import count
from dovetail.reports.metrics import METRICS

SHOWN = ("mean_wait_s", "p95_wait_s", "mean_slowdown", "utilisation", "fragmentation", "traffic_s", "preemptions")
BAR_COLUMNS = 24
MORE = "-o json"


def replay(answer: Mapping[str, Any], listed: int) -> Drawing:
    """`listed`: at most so many differences of each kind."""
    now = answer["ends"]
    took = f"{moment(answer['begins'], now)} to {moment(now, now)}"
    parts: list[Drawing] = [Text(f"{took}: {answer['answer']}")]
    if answer["restarts"]:
        parts.append(Text(f"{count(answer['restarts'], 'restart')} of the server in between"))
    if answer["unlike"]:
        parts += [
            Text(""),
            _unlike(answer["unlike"][:listed], now),
            *and_more(len(answer["unlike"]) - listed, "decision", MORE),
        ]
    if answer["profile"] is not None:
        parts += _elsewhere(answer, listed, now)
    return Stack(*parts, Text(""), _totals(answer["totals"]))


def progress(what: str, share: float) -> str:
    return f"{bar(share, BAR_COLUMNS, track=True).plain} {what}"


def _unlike(rows: Sequence[Mapping[str, Any]], now: float) -> Listing:
    columns: list[TableColumn[Mapping[str, Any]]] = [
        TableColumn("TIME", lambda one: moment(one["at"], now)),
        TableColumn("TASK", lambda one: _task(one["recorded"] or one["replayed"])),
        TableColumn("RECORDED", lambda one: _node(one["recorded"])),
        TableColumn("AGAIN", lambda one: _node(one["replayed"])),
        TableColumn("WHY", lambda one: one["why"], folds=True),
    ]
    return table(columns, rows)


def _elsewhere(answer: Mapping[str, Any], listed: int, now: float) -> list[Drawing]:
    rows, by_model = answer["elsewhere"], answer["by_model"]
    found: list[Drawing] = []
    if by_model:
        words = "also with the profile that was in force: not its doing, and not listed"
        found.append(Text(f"{by_model} more differ {words}"))
    if rows:
        columns: list[TableColumn[Mapping[str, Any]]] = [
            TableColumn("TIME", lambda one: moment(one["at"], now)),
            TableColumn("TASK", lambda one: f"{one['workload']}.{one['replica']}"),
            TableColumn("THEN", lambda one: one["node_then"] or "-"),
            TableColumn("NOW", lambda one: one["node_now"] or "-"),
            TableColumn("WHY", lambda one: one["why"], folds=True),
        ]
        found += [Text(""), table(columns, rows[:listed]), *and_more(len(rows) - listed, "placement", MORE)]
    return found


def _totals(totals: Mapping[str, Mapping[str, float | None]]) -> Listing:
    columns = list(totals)
    rows = []
    for key in SHOWN:
        values = [totals[column].get(key) for column in columns]
        if any(value is not None for value in values):
            metric = METRICS[key]
            rows.append([metric.title.lower(), *("-" if v is None else metric.written(v) for v in values)])
    return grid([Header(), *(Header(column, right=True) for column in columns)], rows)


def _task(one: Mapping[str, Any]) -> str:
    return f"{one['workload']}.{one['replica']}.{one['attempt']}"


def _node(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else one["node"] or "waits"
