"""Nodes as a table with bars of use, and the tasks of one node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.bars import gauge
from dovetail.cli.render.parts.state import state, tally
from dovetail.cli.render.parts.table import Listing, TableColumn, table
from dovetail.cli.render.parts.task_use import use_columns
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age
from dovetail.client.amounts import shown
from dovetail.model.text.listing import count, ranges

if TYPE_CHECKING:
    from dovetail.responses.nodes import NodeRow, NodeTask

_RESOURCES = ("cpu", "memory", "gpu", "disk")
_ONLY_WIDE = ("disk",)
MOST_TROUBLES = 5


def node_list(rows: Sequence[NodeRow], wide: bool = False) -> Drawing:
    if not rows:
        return Text("no nodes; register one (dovetail nodes register -f FILE) or configure a backend")
    found = Counter(row["status"] for row in rows)
    tasks = count(sum(row["tasks"] for row in rows), "task")
    head = Text(f"{count(len(rows), 'node')}: {tally(found)}; {tasks} there")
    return Stack(head, node_table(rows, wide), *([] if wide else _troubles(rows)))


def _troubles(rows: Sequence[NodeRow]) -> list[Drawing]:
    """Why nodes are in quarantine, which an operator should look into."""
    told = [f"{row['name']}: {row['reason']}" for row in rows if row["status"] == "quarantined"]
    if len(told) > MOST_TROUBLES:
        told = [*told[:MOST_TROUBLES], f"and {len(told) - MOST_TROUBLES} more; -o wide shows why"]
    if told:
        told.append("dovetail nodes NAME says more; dovetail uncordon NAME ends a quarantine")
    return [Text(f"\n{line}" if not index else line, style="yellow") for index, line in enumerate(told)]


def node_table(rows: Sequence[NodeRow], wide: bool = False, compact: bool = False) -> Listing:
    """A bar for each resource that any of these nodes has."""
    columns: list[TableColumn[NodeRow]] = [
        TableColumn("NAME", lambda row: row["name"]),
        TableColumn("STATUS", lambda row: state(row["status"])),
        TableColumn("TASKS", lambda row: row["tasks"], right=True),
        *(_use_column(name, wide) for name in _RESOURCES if any(_has(row, name) for row in rows)),
        TableColumn("BACKEND", lambda row: row["backend"], wide=True),
        TableColumn("LABELS", _labels, wide=True),
        TableColumn("TAINTS", lambda row: ",".join(row["taints"]), wide=True),
        TableColumn("NOTE", lambda row: row["reason"], wide=True),
    ]
    return table(columns, rows, wide, compact)


def _labels(row: NodeRow) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(row["labels"].items()))


def _has(row: NodeRow, name: str) -> bool:
    return name in row["resources"] and row["resources"][name]["capacity"] > 0


def _use_column(name: str, wide: bool) -> TableColumn[NodeRow]:
    return TableColumn(name.upper(), lambda row: use_gauge(row, name, wide), wide=name in _ONLY_WIDE)


def use_gauge(row: NodeRow, name: str, wide: bool = False, width: int = 8) -> Text:
    """What is taken: allocated to tasks and held by reservations."""
    use = row["resources"].get(name)
    if use is None:
        return gauge(0, 0)
    found = gauge(use["allocated"] + use["reserved"], use["capacity"], width)
    if wide and use["capacity"]:
        found.append(f" of {shown(name, use['capacity'])}", style="dim")
    return found


def one_node(words: str, tasks: Sequence[NodeTask], now: float) -> Drawing:
    """A node described in text, and its tasks."""
    described = Text(words.rstrip("\n"))
    return Stack(described, Text(""), _tasks(tasks, now)) if tasks else described


def _tasks(rows: Sequence[NodeTask], now: float) -> Listing:
    columns: list[TableColumn[NodeTask]] = [
        TableColumn("WORKLOAD", lambda row: f"{row['namespace']}/{row['name']}"),
        TableColumn("REPLICA", lambda row: row["replica"], right=True),
        TableColumn("STATE", lambda row: state(row["state"])),
        TableColumn("HERE FOR", lambda row: age(row["placed_at"], now), right=True),
    ]
    if any(row.get("devices") for row in rows):
        columns.append(TableColumn("GPU", lambda row: ranges(row.get("devices", ()))))
    return table([*columns, *use_columns(rows)], rows)
