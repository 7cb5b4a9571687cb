"""The communication matrix as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text

if TYPE_CHECKING:
    from dovetail.responses.traffic import TrafficRow


def traffic_list(rows: Sequence[TrafficRow], wide: bool = False) -> Drawing:
    if not rows:
        return Text("no traffic between workloads was declared or seen yet; machines count it every ten seconds")
    columns: list[TableColumn[TrafficRow]] = [
        TableColumn("FROM", lambda row: row["source"]),
        TableColumn("TO", lambda row: row["target"] or "(outside)"),
        TableColumn("OBSERVED", lambda row: _rate(row["observed_mbps"]), right=True),
        TableColumn("DECLARED", lambda row: _rate(row["declared_mbps"]), right=True),
        TableColumn("DISTANCE", lambda row: "" if row["distance"] is None else f"{row['distance']:.0f}", right=True),
    ]
    hints = [row for row in rows if row["suggestion"]]
    lines: list[Drawing] = [table(columns, rows, wide)]
    if hints:
        lines += [Text(""), Text("to have them placed near each other, write into the definition of")]
        lines += [Text(f"  {row['source']}: {row['suggestion']}") for row in hints[: None if wide else 10]]
    return Stack(*lines)


def _rate(mbps: float | None) -> str:
    if mbps is None:
        return ""
    return f"{mbps:.0f} Mbps" if mbps >= 10 else f"{mbps:.2g} Mbps"
