"""What needs attention, trends as small bars, and the latest decisions, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.bars import ACCENT, height
from dovetail.cli.render.parts.names import name_of
from dovetail.cli.render.parts.table import TableColumn, and_more, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span
from dovetail.model.text.amounts import show_amount

if TYPE_CHECKING:
    from dovetail.responses.attention import AttentionAnswer, AttentionItem
    from dovetail.responses.recent_decisions import RecentDecision
    from dovetail.responses.trends import TrendAnswer, TrendSeries

NOTHING = "nothing needs attention"
_SIGNS = {"bad": ("✗", "red"), "warn": ("!", "yellow"), "info": ("·", "")}
_SHOWN_BARS = 48
_AMOUNTS = ("_allocated", "_capacity")  # the shares say the same; `-o wide` has both
_SHOWN_MEMBERS = 5
_GROUPS = {"waiting_by_queue": ("waiting, by queue", "workloads"), "use_by_domain": ("use, by domain", "share")}


# --- attention -------------------------------------------------------------------------------------------------


def attention_list(found: AttentionAnswer, wide: bool = False) -> Drawing:
    if not found["items"]:
        return Text(NOTHING)
    parts: list[Drawing] = []
    for item in found["items"]:
        sign, style = _SIGNS.get(item["severity"], ("·", ""))
        parts.append(Text(f"{sign} ", style=style).append(item["what"], style="bold"))
        if item["detail"]:
            parts.append(Text(f"  {item['detail']}"))
        parts.append(_next(item, wide))
    return Stack(*parts, *and_more(found["total"] - len(found["items"]), "finding", "-o json lists no more either"))


def _next(item: AttentionItem, wide: bool) -> Text:
    step = item["next"]
    words = f"  {step['words']}: {step['command']}" if step["words"] else f"  {step['command']}"
    return Text(f"{words}  (page {step['page']})" if wide else words, style="dim")


# --- trends ----------------------------------------------------------------------------------------------------


NOTHING_YET = "nothing was recorded in that time yet; the server takes a sample every ten seconds"


def trend_lines(found: TrendAnswer, wide: bool = False, nothing: str = NOTHING_YET) -> Drawing:
    """One line a series: its bars, what it is now, and the range."""
    shown = {name: one for name, one in found["series"].items() if wide or _has_any(one)}
    shares = {name: one for name, one in shown.items() if wide or not name.endswith(_AMOUNTS)}
    rows = list((shares or shown).values())
    parts: list[Drawing] = []
    if rows:
        parts.append(table(_COLUMNS, rows, wide))
    for name, members in found["groups"].items():
        title, unit = _GROUPS.get(name, (name, ""))
        series: list[TrendSeries] = [{"title": one, "unit": unit, "values": values} for one, values in members.items()]
        largest = sorted(series, key=lambda one: -_highest(one))[: None if wide else _SHOWN_MEMBERS]
        if largest:
            parts += [Text(f"\n{title}", style="dim"), table(_COLUMNS, largest, wide)]
            parts += and_more(len(series) - len(largest), "row")
    if not parts:
        return Text(nothing)
    step = span(found["step_s"])
    return Stack(Text(f"each bar is {step}; the last is now", style="dim"), *parts)


def sparkline(series: TrendSeries) -> Text:
    """Shares from 0 to 1, others from 0 to their highest; a dot where nothing was recorded."""
    highest = 1.0 if series["unit"] == "share" else _highest(series)
    bars = [
        "·" if one is None else height(one / highest if highest else 0.0) for one in series["values"][-_SHOWN_BARS:]
    ]
    return Text("".join(bars), style=ACCENT)


def _has_any(series: TrendSeries) -> bool:
    return any(one is not None for one in series["values"])


def _highest(series: TrendSeries) -> float:
    return max([one for one in series["values"] if one is not None], default=0.0)


def _last(series: TrendSeries) -> float | None:
    return next((one for one in reversed(series["values"]) if one is not None), None)


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "share":
        return f"{value:.0%}"
    if unit == "bytes":
        return show_amount("memory", value)
    if unit == "s":
        return span(value)
    words = {"1/s": "/s", "1/min": "/min", "ms": " ms", "cores": "", "GPUs": "", "pieces": "", "workloads": ""}
    return f"{value:,.3g}{words.get(unit, f' {unit}')}" if value < 1000 else f"{value:,.0f}{words.get(unit, '')}"


_COLUMNS: list[TableColumn[TrendSeries]] = [
    TableColumn("", lambda one: one["title"], shrinks=True),
    TableColumn("", sparkline),
    TableColumn("NOW", lambda one: _shown(_last(one), one["unit"]), right=True),
    TableColumn("MOST", lambda one: _shown(_highest(one) if _has_any(one) else None, one["unit"]), right=True),
]


# --- decisions -------------------------------------------------------------------------------------------------


def decision_list(rows: Sequence[RecentDecision], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("nothing was decided yet")
    name = name_of(rows)
    columns: list[TableColumn[RecentDecision]] = [
        TableColumn("TIME", lambda row: moment(row["at"], now)),
        TableColumn("WORKLOAD", lambda row: _named(name(row), row), shrinks=True),
        TableColumn("OUTCOME", lambda row: row["outcome"]),
        TableColumn("SCORE", lambda row: "" if row["score"] is None else f"{row['score']:.2f}", right=True),
        TableColumn(
            "TOOK", lambda row: "" if row["took_ms"] is None else f"{row['took_ms']:.2g} ms", right=True, wide=True
        ),
        TableColumn("WHY", lambda row: row["why"], folds=True),
    ]
    return table(columns, rows, wide)


def _named(name: str, row: RecentDecision) -> str:
    return f"{name} ×{row['tasks']}" if row["tasks"] > 1 else name
