"""Reservations as a table, and one of them in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, and_more, joined, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.queues import ReservationRow

_NODES_SHOWN = 20


def reservation_list(rows: Sequence[ReservationRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("nothing is reserved")
    columns: list[TableColumn[ReservationRow]] = [
        TableColumn("ID", lambda row: row["id"], right=True),
        TableColumn("STATUS", lambda row: row["status"]),
        TableColumn("NODE", _nodes, shrinks=True),
        TableColumn("HELD", lambda row: _held(row["resources"]), shrinks=True),
        TableColumn("FOR", lambda row: row["tenant"] or (not wide and row["holder"]) or "nobody", shrinks=True),
        TableColumn("WHEN", lambda row: _when(row, now), right=True),
        TableColumn("EVERY", lambda row: span(row["every_s"]), right=True),
        TableColumn("STARTS AT", lambda row: moment(row["start"], now), wide=True),
        TableColumn("ENDS AT", lambda row: moment(row["until"], now), wide=True),
        TableColumn("HOLDER", lambda row: row["holder"], wide=True),
    ]
    return Stack(Text(count(len(rows), "reservation")), table(columns, rows, wide))


def one_reservation(row: ReservationRow, now: float, wide: bool = False) -> Drawing:
    """Line by line, then its nodes."""
    facts = [
        ("Reservation", str(row["id"])),
        ("Status", row["status"] + (f": {row['message']}" if row["message"] else "")),
        ("Asked for", row["target"]),
        ("For", f"namespace {row['tenant']}" if row["tenant"] is not None else "nobody"),
        ("Holder", row["holder"] or "-"),
        ("Window", f"{moment(row['start'], now)} to {moment(row['until'], now)} ({_when(row, now)})"),
    ]
    if row["every_s"] is not None:
        last = row["repeats_until"]
        ends = "for ever" if last is None else f"until {moment(last, now)}"
        facts.append(("Again", f"every {span(row['every_s'])}, {ends}"))
    lines = [Text(f"{name + ':':<13}{value}") for name, value in facts]
    names = list(row["nodes"].items())
    drawn = names if wide else names[:_NODES_SHOWN]
    lines += [Text(f"{'Nodes:' if not i else '':<13}{name} ({_held(a)})") for i, (name, a) in enumerate(drawn)]
    return Stack(*lines, *and_more(len(names) - len(drawn), "node"))


def _nodes(row: ReservationRow) -> str:
    if row["node"] is not None:
        return row["node"]
    return f"{len(row['nodes'])} nodes" if row["nodes"] else "-"


def _held(amounts: Mapping[str, str | int]) -> str:
    return joined(amounts, " ") or "-"


def _when(row: ReservationRow, now: float) -> str:
    if row["start"] > now:
        return f"in {span(row['start'] - now)}"
    return f"{span(row['until'] - now)} left"
