"""Costs: tables with their totals, rows of CSV, forecasts and budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.bars import gauge
from dovetail.cli.render.parts.table import TableColumn, and_more, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.cost import (
        BudgetRow,
        CostForecast,
        CostPage,
        CostReport,
        CostRow,
        CostTables,
        CostTotalRow,
        ForecastRow,
    )

CSV_COLUMNS = ("by", "name", "namespace", "workload", "backend", "currency", "cost", "idle")
REPORT_COLUMNS = ("month", *CSV_COLUMNS)
_NOTHING = "no node that costs anything was there then; give nodes an offer (docs/cost.md)"


def money(amount: float | None) -> str:
    """Two figures behind the point; what is there is never shown as nothing."""
    if amount is None:
        return "-"
    return "<0.01" if 0 < amount < 0.005 else f"{amount:,.2f}".replace("-0.00", "0.00")


def name_of(row: CostRow, by: str) -> str:
    if row["name"]:
        is_elsewhere = row["namespace"] not in (None, "default")
        return f"{row['namespace']}/{row['name']}" if is_elsewhere else row["name"]
    return "(older work)" if by == "workload" else "(older nodes)" if by == "node" else "(none)"


def sums_in_words(totals: Sequence[CostTotalRow]) -> str:
    """`12.40 USD (work 9.10, idle 3.30); 2.00 EUR (…)`."""
    found = []
    for one in totals:
        if one["total"] is None:
            found.append(f"work {money(one['work'])} {one['currency']}")
        else:
            parts = f"work {money(one['work'])}, idle {money(one['idle'])}"
            found.append(f"{money(one['total'])} {one['currency']} ({parts})")
    return "; ".join(found) or "nothing"


def cost_list(page: CostPage, wide: bool = False) -> Drawing:
    if not page["totals"]:
        return Text(_NOTHING)
    by, rows = page["by"], page["items"]
    wholes = {one["currency"]: one["work"] if one["total"] is None else one["total"] for one in page["totals"]}

    def part(row: CostRow) -> Text:
        return gauge(row["cost"] + (row["idle"] or 0.0), wholes.get(row["currency"], 0.0))

    columns: list[TableColumn[CostRow]] = [
        TableColumn(by.upper(), lambda row: name_of(row, by), shrinks=True),
        TableColumn("ID", lambda row: row["workload"] or "", right=True, wide=by != "workload"),
        TableColumn("BACKEND", lambda row: row["backend"] if by == "node" else ""),
        TableColumn("USED" if by in ("node", "backend") else "COST", lambda row: money(row["cost"]), right=True),
        TableColumn("IDLE", lambda row: money(row["idle"]), right=True),
        TableColumn("CURRENCY", lambda row: row["currency"]),
        TableColumn("OF ALL", part),
    ]
    head = Text(f"{page['since']} to before {page['until']}: {sums_in_words(page['totals'])}")
    return Stack(head, table(columns, rows, wide), *and_more(page["left_off"], "row", "--limit N"))


def csv_row(by: str, row: CostRow) -> list[object]:
    fields: dict[str, object] = {**row, "by": by}
    return ["" if fields[name] is None else fields[name] for name in CSV_COLUMNS]


def report_rows(report: CostReport) -> Iterator[list[object]]:
    """Everything in one table: `by` says what a row is a sum of."""
    month = report["month"]
    for total in report["totals"]:
        yield [month, "total", "", "", "", "", total["currency"], total["work"], total["idle"]]
    for day in report["days"]:
        yield [month, "day", day["day"], "", "", "", day["currency"], day["work"], day["idle"]]
    for by, rows in tables_of(report["by"]):
        for row in rows:
            yield [month, *csv_row(by, row)]


def tables_of(tables: CostTables) -> list[tuple[str, list[CostRow]]]:
    return [
        ("namespace", tables["namespace"]),
        ("user", tables["user"]),
        ("queue", tables["queue"]),
        ("workload", tables["workload"]),
        ("backend", tables["backend"]),
        ("node", tables["node"]),
    ]


def forecast(found: CostForecast, wide: bool = False) -> Drawing:
    whose = "all nodes" if found["namespace"] is None else f"work of namespace {found['namespace']}"
    head = f"{found['month']}, {whose}; {span(found['ends_at'] - found['at'])} left"
    if not found["items"]:
        return Stack(Text(head), Text(_NOTHING if found["namespace"] is None else "nothing was spent yet"))
    columns: list[TableColumn[ForecastRow]] = [
        TableColumn("CURRENCY", lambda row: row["currency"]),
        TableColumn("SPENT", lambda row: money(row["spent"]), right=True),
        TableColumn("EXPECTED", lambda row: money(row["expected"]), right=True),
        TableColumn("RANGE", lambda row: f"{money(row['low'])} – {money(row['high'])}", right=True),
        TableColumn("DAYS", lambda row: str(row["days"]), right=True, wide=True),
        TableColumn("NOW/H", lambda row: money(row["per_hour"]), right=True),
        TableColumn("MEAN DAY", lambda row: money(row["mean_day"]), right=True),
    ]
    return Stack(Text(head), table(columns, found["items"], wide))


_STATES = {"ok": "green", "warning": "yellow", "spent": "red"}


def budget_list(rows: Sequence[BudgetRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("no namespace has a budget; set one: dovetail budget set NAMESPACE 500 USD")
    columns: list[TableColumn[BudgetRow]] = [
        TableColumn("NAMESPACE", lambda row: row["namespace"], shrinks=True),
        TableColumn("BUDGET", lambda row: f"{money(row['amount'])} {row['currency']}", right=True),
        TableColumn("SPENT", lambda row: money(row["spent"]), right=True),
        TableColumn("", lambda row: gauge(row["spent"], row["amount"])),
        TableColumn("STATE", lambda row: Text(row["state"], _STATES.get(row["state"], ""))),
        TableColumn("ON LIMIT", lambda row: row["on_limit"]),
        TableColumn("SPENT IN", lambda row: "-" if row["spent_at"] is None else span(row["spent_at"] - now)),
        TableColumn("NOW/H", lambda row: money(row["per_hour"]), right=True, wide=True),
        TableColumn("FROM", lambda row: "settings" if row["in_settings"] else "", wide=True),
    ]
    month, left = rows[0]["month"], span(rows[0]["ends_at"] - now)
    return Stack(Text(f"{count(len(rows), 'budget')} for {month}, {left} left"), table(columns, rows, wide))
