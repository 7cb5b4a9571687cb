"""Reservations as a table, and one of them in full."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.spans import moment, span
from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.queues import ReservationRow

_COLUMNS = (
    Header("ID", right=True),
    Header("STATUS"),
    Header("NODE", shrinks=True),
    Header("HELD", shrinks=True),
    Header("FOR", shrinks=True),
    Header("WHEN", right=True),
    Header("EVERY", right=True),
    Header("STARTS AT", wide=True),
    Header("ENDS AT", wide=True),
    Header("HOLDER", wide=True),
)
_NODES_SHOWN = 20


def reservation_list(rows: Sequence[ReservationRow], now: float, wide: bool = False) -> RenderableType:
    if not rows:
        return Text("nothing is reserved")
    lines = [
        [
            row["id"],
            row["status"],
            nodes(row),
            held(row["resources"]),
            row["tenant"] or ("nobody" if wide or not row["holder"] else row["holder"]),
            when(row, now),
            span(row["every_s"]),
            moment(row["start"], now),
            moment(row["until"], now),
            row["holder"],
        ]
        for row in rows
    ]
    return Group(Text(f"{count(len(rows), 'reservation')}"), table(_COLUMNS, lines, wide))


def one_reservation(row: ReservationRow, now: float) -> RenderableType:
    """Line by line, then its nodes."""
    facts = [
        ("Reservation", str(row["id"])),
        ("Status", row["status"] + (f": {row['message']}" if row["message"] else "")),
        ("Asked for", row["target"]),
        ("For", f"namespace {row['tenant']}" if row["tenant"] is not None else "nobody"),
        ("Holder", row["holder"] or "-"),
        ("Window", f"{moment(row['start'], now)} to {moment(row['until'], now)} ({when(row, now)})"),
    ]
    if row["every_s"] is not None:
        last = row["repeats_until"]
        ends = "for ever" if last is None else f"until {moment(last, now)}"
        facts.append(("Again", f"every {span(row['every_s'])}, {ends}"))
    lines = [Text(f"{name + ':':<13}{value}") for name, value in facts]
    names = list(row["nodes"].items())
    lines += [
        Text(f"{'Nodes:' if not i else '':<13}{name} ({held(a)})") for i, (name, a) in enumerate(names[:_NODES_SHOWN])
    ]
    if len(names) > _NODES_SHOWN:
        lines.append(Text(f"{'':<13}and {len(names) - _NODES_SHOWN} more"))
    return Group(*lines)


def nodes(row: ReservationRow) -> str:
    if row["node"] is not None:
        return row["node"]
    return f"{len(row['nodes'])} nodes" if row["nodes"] else "-"


def held(amounts: Mapping[str, str | int]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items()) or "-"


def when(row: ReservationRow, now: float) -> str:
    if row["start"] > now:
        return f"in {span(row['start'] - now)}"
    return f"{span(row['until'] - now)} left"
