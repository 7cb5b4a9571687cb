"""How even the cluster is, and what was or would be moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age, span

if TYPE_CHECKING:
    from dovetail.responses.rebalancing import DoneMoveRow, MoveRow, Rebalancing


def balance_report(found: Rebalancing, now: float, wide: bool = False) -> Drawing:
    every = f"every {span(found['every_s'])}" if found["enabled"] else "off: dovetail rebalance --now moves what pays"
    distance = "no task declares traffic" if found["distance"] is None else f"{found['distance']:.1f} of 100 apart"
    success = "-" if found["success_rate"] is None else f"{found['success_rate']:.1%} of decisions placed a task"
    facts = [
        ("Rebalancing", every),
        ("Loads", f"{found['spread']:.2f} apart (moves begin at {found['threshold']:.2f}), σ {found['deviation']:.3f}"),
        ("Traffic", distance),
        ("Placement", success),
        ("Moves", f"{found['moves_last_hour']} in the last hour"),
    ]
    lines: list[Drawing] = [Text(f"{name + ':':<13}{value}") for name, value in facts]
    if found["proposed"]:
        lines += [Text(""), Text("moves that pay now"), _moves(found["proposed"], wide)]
    if found["done"]:
        lines += [
            Text(""),
            Text("moved, newest first"),
            _done(found["done"] if wide else found["done"][:10], now, wide),
        ]
    return Stack(*lines)


def _columns() -> list[TableColumn[MoveRow]]:
    return [
        TableColumn("NAME", lambda row: row["name"]),
        TableColumn("FROM", lambda row: row["source"]),
        TableColumn("TO", lambda row: row["target"]),
        TableColumn("BENEFIT", lambda row: f"{row['benefit']:.3g}", right=True),
        TableColumn("COST", lambda row: f"{row['cost']:.3g}", right=True),
        TableColumn("WHY", lambda row: row["why"], folds=True),
    ]


def _moves(rows: Sequence[MoveRow], wide: bool) -> Drawing:
    return table(_columns(), rows, wide)


def _done(rows: Sequence[DoneMoveRow], now: float, wide: bool) -> Drawing:
    columns: list[TableColumn[DoneMoveRow]] = [
        TableColumn("AGO", lambda row: age(row["at"], now), right=True),
        TableColumn("NAME", lambda row: row["name"]),
        TableColumn("FROM", lambda row: row["source"]),
        TableColumn("TO", lambda row: row["target"]),
        TableColumn("BENEFIT", lambda row: f"{row['benefit']:.3g}", right=True),
        TableColumn("COST", lambda row: f"{row['cost']:.3g}", right=True),
        TableColumn("WHY", lambda row: row["why"], folds=True),
    ]
    return table(columns, rows, wide)
