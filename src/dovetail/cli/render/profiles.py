"""Profiles with their weights, and the schedulers that use them."""

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.table import Column, joined, table
from dovetail.model.text.listing import count
from dovetail.responses.system import ProfileRow, Profiles, SchedulerRow

_PROFILES: list[Column[ProfileRow]] = [
    Column("", lambda row: "▶" if row["default"] else ""),
    Column("PROFILE", lambda row: row["name"]),
    Column("ORDER", lambda row: row["order"]),
    Column("SELECTS", lambda row: row["select"]),
    Column("SCORES AND WEIGHTS", lambda row: _weights(row) or "none", folds=True),
    Column("FILTERS", lambda row: ", ".join(row["filters"]), wide=True),
]
_SCHEDULERS: list[Column[SchedulerRow]] = [
    Column("SCHEDULER", lambda row: row["name"]),
    Column("PROFILE", lambda row: row["profile"]),
    Column("NAMESPACES", lambda row: ", ".join(row["namespaces"]) or "all", shrinks=True),
    Column("NODES", lambda row: joined(row["node_selector"], "=") or "all", shrinks=True),
]


def profile_list(answer: Profiles, wide: bool = False) -> RenderableType:
    profiles = answer["profiles"]
    head = f"{count(len(profiles), 'profile')}, {answer['default']} unless a workload says otherwise"
    schedulers = table(_SCHEDULERS, answer["schedulers"], wide)
    return Group(Text(head), table(_PROFILES, profiles, wide), Text(""), schedulers)


def _weights(row: ProfileRow) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in row["scores"].items())
