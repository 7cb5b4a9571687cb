"""Events, one line each: when, what kind, about whom, and what happened. Names instead of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.state import state_style
from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Text
from dovetail.cli.render.parts.times import moment

if TYPE_CHECKING:
    from dovetail.responses.system import HistoryRow

_KIND_CELLS, _SUBJECT_CELLS = 9, 24


def event_list(rows: Sequence[HistoryRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("nothing happened")
    columns: list[TableColumn[HistoryRow]] = [
        TableColumn("SEQ", lambda row: row["seq"], right=True, wide=True),
        TableColumn("TIME", lambda row: moment(row["at"], now), right=True),
        TableColumn("KIND", lambda row: Text(row["kind"], state_style(row["kind"]))),
        TableColumn("ABOUT", subject),
        TableColumn("NODE", lambda row: row["node"], wide=True),
        TableColumn("MESSAGE", lambda row: row["message"], folds=True),
    ]
    return table(columns, rows, wide)


def event_line(row: HistoryRow, now: float) -> Text:
    """A line of its own, in columns that are wide enough for most."""
    kind = Text(row["kind"].ljust(_KIND_CELLS), state_style(row["kind"]))
    message = " ".join(row["message"].split())
    return Text.assemble(moment(row["at"], now), "  ", kind, "  ", subject(row).ljust(_SUBJECT_CELLS), "  ", message)


def subject(row: HistoryRow) -> str:
    """`default/train.3`, `default/train` for a whole workload, else the node or the backend. A workload that was
    forgotten has only its id left."""
    if row["workload"] is not None:
        name = f"{row['namespace']}/{row['name']}" if row["name"] is not None else f"workload {row['workload']}"
        return name if row["replica"] is None else f"{name}.{row['replica']}"
    return row["node"] or row["backend"] or "-"
