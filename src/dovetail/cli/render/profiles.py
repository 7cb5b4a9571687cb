"""Profiles with their weights, and the schedulers that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, joined, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.system import ProfileRow, Profiles, SchedulerRow

_PROFILES: list[TableColumn[ProfileRow]] = [
    TableColumn("", lambda row: "▶" if row["default"] else ""),
    TableColumn("PROFILE", lambda row: row["name"]),
    TableColumn("ORDER", lambda row: row["order"]),
    TableColumn("SELECTS", lambda row: row["select"]),
    TableColumn("SCORES AND WEIGHTS", lambda row: _weights(row) or "none", folds=True),
    TableColumn("FILTERS", lambda row: ", ".join(row["filters"]), wide=True),
]
_SCHEDULERS: list[TableColumn[SchedulerRow]] = [
    TableColumn("SCHEDULER", lambda row: row["name"]),
    TableColumn("PROFILE", lambda row: row["profile"]),
    TableColumn("NAMESPACES", lambda row: ", ".join(row["namespaces"]) or "all", shrinks=True),
    TableColumn("NODES", lambda row: joined(row["node_selector"], "=") or "all", shrinks=True),
]


def profile_list(answer: Profiles, wide: bool = False) -> Drawing:
    profiles = answer["profiles"]
    head = f"{count(len(profiles), 'profile')}, {answer['default']} unless a workload says otherwise"
    schedulers = table(_SCHEDULERS, answer["schedulers"], wide)
    return Stack(Text(head), table(_PROFILES, profiles, wide), Text(""), schedulers)


def _weights(row: ProfileRow) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in row["scores"].items())
