"""The report of a month as one HTML file: no scripts, nothing loaded from elsewhere, bars as inline SVG.

Names come from users: everything is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from dovetail.cli.render.cost import money, name_of, tables_of

if TYPE_CHECKING:
    from dovetail.responses.cost import BudgetRow, CostDayRow, CostReport, CostRow, CostTotalRow

_HEIGHT, _WIDTH, _GAP = 120, 18, 4
_BAR = 120
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.note, caption { color: #59636e; text-align: left; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #d8dee4; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.work { fill: #2f6fd0; } .idle { fill: #c5ced8; } text { font-size: 10px; fill: #59636e; }
@media (prefers-color-scheme: dark) { body { background: #14181d; color: #e4e8ec; }
 th, td { border-color: #30363d; } .idle { fill: #444c56; } }
"""


def html(report: CostReport) -> str:
    month = escape(report["month"])
    at = datetime.fromtimestamp(report["at"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts = [
        f"<h1>Cost of {month}</h1>",
        f'<p class="note">Made by Dovetail at {at}. Days are those of UTC. Blue is work, grey is idle time.</p>',
        _totals(report["totals"]),
    ]
    if not report["totals"]:
        parts.append("<p>No node that costs anything was there in this month.</p>")
    for currency in (one["currency"] for one in report["totals"]):
        days = [day for day in report["days"] if day["currency"] == currency]
        parts += [f"<h2>By day, {escape(currency)}</h2>", _chart(days)]
    if report["budgets"]:
        parts += ["<h2>Budgets</h2>", _budgets(report["budgets"])]
    for by, rows in tables_of(report["by"]):
        if rows:
            parts += [f"<h2>By {by}</h2>", _rows(by, rows)]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Cost of {month}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    """Cells are HTML."""

    def line(cells: Sequence[str], tag: str) -> str:
        marked = (f"<{tag}{' class=n' if place in numbers else ''}>{one}</{tag}>" for place, one in enumerate(cells))
        return f"<tr>{''.join(marked)}</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f"<table>\n<thead>{line(heads, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _totals(totals: Sequence[CostTotalRow]) -> str:
    rows = [
        (escape(one["currency"]), money(one["total"]), money(one["work"]), money(one["idle"]), _share(one))
        for one in totals
    ]
    return _table(("Currency", "Total", "Work", "Idle", ""), rows, (1, 2, 3)) if rows else ""


def _share(one: CostTotalRow) -> str:
    return _bar(one["work"], one["idle"] or 0.0, one["total"] or 0.0)


def _bar(work: float, idle: float, most: float) -> str:
    """One line of a table: work, then idle time."""
    if most <= 0:
        return ""
    used, unused = _BAR * max(0.0, work) / most, _BAR * max(0.0, idle) / most
    return (
        f'<svg width="{_BAR}" height="10" role="img" aria-label="work {money(work)}, idle {money(idle)}">'
        f'<rect class="work" width="{used:.1f}" height="10"/>'
        f'<rect class="idle" x="{used:.1f}" width="{unused:.1f}" height="10"/></svg>'
    )


def _chart(days: Sequence[CostDayRow]) -> str:
    most = max((day["work"] + day["idle"] for day in days), default=0.0)
    if most <= 0:
        return "<p>Nothing.</p>"
    found = []
    for place, day in enumerate(days):
        x, work = place * (_WIDTH + _GAP), _HEIGHT * max(0.0, day["work"]) / most
        idle = _HEIGHT * max(0.0, day["idle"]) / most
        words = f"{escape(day['day'])}: work {money(day['work'])}, idle {money(day['idle'])}"
        found.append(
            f"<g><title>{words}</title>"
            f'<rect class="work" x="{x}" y="{_HEIGHT - work:.1f}" width="{_WIDTH}" height="{work:.1f}"/>'
            f'<rect class="idle" x="{x}" y="{_HEIGHT - work - idle:.1f}" width="{_WIDTH}" height="{idle:.1f}"/>'
            f'<text x="{x + _WIDTH / 2}" y="{_HEIGHT + 12}" text-anchor="middle">{escape(day["day"][8:])}</text></g>'
        )
    width = max(1, len(days)) * (_WIDTH + _GAP)
    label = f'aria-label="cost by day, {money(most)} at most"'
    return f'<svg width="{width}" height="{_HEIGHT + 16}" role="img" {label}>\n' + "\n".join(found) + "\n</svg>"


def _budgets(rows: Sequence[BudgetRow]) -> str:
    cells = [
        (
            escape(row["namespace"]),
            f"{money(row['amount'])} {escape(row['currency'])}",
            money(row["spent"]),
            f"{row['percent']:.0f} %",
            escape(row["state"]),
            escape(row["on_limit"]),
        )
        for row in rows
    ]
    return _table(("Namespace", "Budget", "Spent", "", "State", "At the limit"), cells, (1, 2, 3))


def _rows(by: str, rows: Sequence[CostRow]) -> str:
    most: dict[str, float] = {}
    for row in rows:
        most[row["currency"]] = max(most.get(row["currency"], 0.0), row["cost"] + (row["idle"] or 0.0))
    of_nodes = by in ("node", "backend")
    cells = [
        (
            escape(name_of(row, by)),
            money(row["cost"]),
            *((money(row["idle"]),) if of_nodes else ()),
            escape(row["currency"]),
            _bar(row["cost"], row["idle"] or 0.0, most[row["currency"]]),
        )
        for row in rows
    ]
    heads = (by.capitalize(), "Used" if of_nodes else "Cost", *(("Idle",) if of_nodes else ()), "Currency", "")
    return _table(heads, cells, (1, 2) if of_nodes else (1,))
