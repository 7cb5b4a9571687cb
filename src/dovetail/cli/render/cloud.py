"""Machines that are launched for work: prices, instances, and those that nobody knew of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, and_more, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age
from dovetail.model.text.amounts import show_amount, show_bytes
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.cloud import (
        CloudInstanceList,
        CloudInstanceRow,
        CloudOfferRow,
        CloudProblem,
        ReapedInstances,
    )


def price_list(rows: Sequence[CloudOfferRow], limit: int, wide: bool = False) -> Drawing:
    if not rows:
        return Text("nothing can be launched: no backend offers such machines (dovetail backend add)")
    shown = rows if limit <= 0 else rows[:limit]
    columns: list[TableColumn[CloudOfferRow]] = [
        TableColumn("TYPE", lambda row: row["instance_type"] or row["name"]),
        TableColumn("ZONE", lambda row: row["zone"]),
        TableColumn("CPU", lambda row: show_amount("cpu", round(row["cpu"] * 1000)), right=True),
        TableColumn("MEMORY", lambda row: show_bytes(row["memory"]), right=True),
        TableColumn("GPUS", lambda row: f"{row['gpus']} {row['gpu_model']}".strip() if row["gpus"] else "-"),
        TableColumn("PRICE/H", lambda row: money(row["price_per_hour"], row["currency"]), right=True),
        TableColumn("SORT", lambda row: "spot" if row["spot"] else "on demand"),
        TableColumn("BACKEND", lambda row: row["backend"], wide=True),
        TableColumn("NAME", lambda row: row["name"], wide=True),
        TableColumn("OFFERED", lambda row: "yes" if row["offered"] else "no"),
    ]
    return Stack(table(columns, shown, wide), *and_more(len(rows) - len(shown), "offer", "--limit 0"), *_why_not(shown))


def _why_not(rows: Sequence[CloudOfferRow]) -> list[Drawing]:
    """Each reason once, with those that it concerns."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if not row["offered"]:
            reasons.setdefault(row["why_not"], []).append(row["name"])
    lines = [Text(f"not offered: {', '.join(names)}: {why}") for why, names in reasons.items()]
    return [Text(), *lines] if lines else []


def instance_list(found: CloudInstanceList, now: float, wide: bool = False) -> Drawing:
    parts: list[Drawing] = [_instances(found["items"], now, wide)] if found["items"] else []
    if not parts and not found["problems"]:
        parts = [Text("no machine runs for us")]
    return Stack(*parts, *_problems(found["problems"]))


def reaped(found: ReapedInstances, now: float, wide: bool = False) -> Drawing:
    number = count(len(found["items"]), "machine")
    words = f"{number} that nobody knows of" + ("; without --dry-run they are ended" if found["dry_run"] else " ended")
    if not found["items"]:
        words = "every machine is known: nothing to end"
    listed = [_instances(found["items"], now, wide)] if found["items"] else []
    return Stack(*listed, Text(words), *_problems(found["problems"]))


def money(amount: float, currency: str) -> str:
    """Small prices need more digits."""
    digits = 2 if amount >= 100 else 4
    return f"{amount:.{digits}f} {currency}"


def _instances(rows: Sequence[CloudInstanceRow], now: float, wide: bool) -> Drawing:
    currencies = {row["currency"] for row in rows}
    title = f"{currencies.pop()}/H" if len(currencies) == 1 else "PRICE/H"
    columns: list[TableColumn[CloudInstanceRow]] = [
        TableColumn("MACHINE", lambda row: row["id"]),
        TableColumn("NODE", lambda row: row["node"] or "-", shrinks=True),
        TableColumn("STATE", _state),
        TableColumn("AGE", lambda row: "-" if row["launched_at"] is None else age(row["launched_at"], now), right=True),
        TableColumn(title, lambda row: _price(row, with_currency=title == "PRICE/H"), right=True),
        TableColumn("COST", lambda row: "-" if row["cost"] is None else f"{row['cost']:.4f}", right=True),
        TableColumn("BACKEND", lambda row: row["backend"], wide=True),
        TableColumn("TYPE", lambda row: row["type"], wide=True),
        TableColumn("ADDRESS", lambda row: row["address"] or "-", wide=True),
        TableColumn("RUNS", _runs, folds=True),
    ]
    return table(columns, rows, wide)


def _price(row: CloudInstanceRow, *, with_currency: bool) -> str:
    price = row["price_per_hour"]
    return "-" if price is None else money(price, row["currency"] if with_currency else "").strip()


def _state(row: CloudInstanceRow) -> str:
    if not row["known"]:
        return "unknown"
    return "leaving" if row["ends_at"] is not None else row["state"]


def _runs(row: CloudInstanceRow) -> str:
    if not row["known"]:
        return "nobody knows of it"
    tasks = ", ".join(f"{task['name']}.{task['replica']}" for task in row["tasks"]) or "nothing"
    return f"{tasks}; {row['reason']}" if row["reason"] else tasks


def _problems(problems: Sequence[CloudProblem]) -> list[Drawing]:
    return [Text(f"{one['backend']} could not be asked: {one['problem']}") for one in problems]
