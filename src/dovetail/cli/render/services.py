"""Services as a table, one of them with its replicas, its revisions, and what applying a file did."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import commonprefix
from typing import TYPE_CHECKING, Any

from dovetail.cli.render.parts.names import name_of
from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age
from dovetail.model.text.listing import count, first_of

if TYPE_CHECKING:
    from dovetail.responses.discovery import EndpointRow, ServiceEndpoints
    from dovetail.responses.services import AppliedService, ReplicaRow, RevisionRow, ServiceDetail, ServiceRow

_CHANGES_SHOWN = 20
_LONGEST = 60


def service_list(rows: Sequence[ServiceRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("there are no services; dovetail apply -f FILE makes some")
    name = name_of(rows)
    columns: list[TableColumn[ServiceRow]] = [
        TableColumn("NAME", name),
        TableColumn("READY", lambda row: f"{row['ready']}/{row['replicas']}", right=True),
        TableColumn("REVISION", lambda row: row["revision"], right=True),
        TableColumn("UPDATE", lambda row: state("removed" if row["removed"] else row["rollout"])),
        TableColumn("AGE", lambda row: age(row["made_at"], now), right=True),
        TableColumn("MESSAGE", lambda row: row["message"], folds=True),
    ]
    return table(columns, rows, wide)


def one_service(row: ServiceDetail, now: float, wide: bool = False) -> Drawing:
    """Line by line, then its replicas."""
    rollout = "is being removed" if row["removed"] else row["rollout"].replace("_", " ")
    facts = [
        ("Service", row["name"] if row["namespace"] == "default" else f"{row['namespace']}/{row['name']}"),
        ("Replicas", f"{row['ready']} of {row['replicas']} ready"),
        ("Revision", f"{row['revision']}, {rollout}" + (f": {row['message']}" if row["message"] else "")),
    ]
    lines = [Text(f"{name + ':':<10}{value}") for name, value in facts]
    columns: list[TableColumn[ReplicaRow]] = [
        TableColumn("REPLICA", lambda one: one["name"]),
        TableColumn("REV", lambda one: one["revision"], right=True),
        TableColumn("STATE", lambda one: state(one["state"])),
        TableColumn("READY", lambda one: "yes" if one["ready"] else "no"),
        TableColumn("RESTARTS", lambda one: one["restarts"] or "", right=True),
        TableColumn("NODE", lambda one: one["node"] or ""),
        TableColumn("ADDRESS", _address, wide=False),
        TableColumn("AGE", lambda one: age(one["started_at"], now), right=True),
        TableColumn("MESSAGE", lambda one: "" if one["ready"] else one["message"], folds=True),
    ]
    return Stack(*lines, table(columns, row["items"], wide)) if row["items"] else Stack(*lines)


def described_service(row: ServiceDetail, now: float, wide: bool = False) -> Drawing:
    """With its revisions, and where to learn more."""
    name = row["name"] if row["namespace"] == "default" else f"{row['namespace']}/{row['name']}"
    hint = f"all about one replica: dovetail describe {name}.{row['items'][0]['index']}" if row["items"] else ""
    revisions = revision_list(row["revisions"][::-1], now, wide)
    return Stack(one_service(row, now, wide), Text(""), revisions, *([Text(""), Text(hint)] if hint else []))


def _address(one: ReplicaRow) -> str:
    if one["address"] is None or not one["ports"]:
        return one["address"] or ""
    return " ".join(f"{one['address']}:{port}" for port in one["ports"].values())


def endpoint_list(found: ServiceEndpoints, wide: bool = False) -> Drawing:
    if not found["items"]:
        return Text(f"no replica of {found['service']} is ready; dovetail services {found['service']} says why")
    measured = any(one["distance"] is not None for one in found["items"])
    columns: list[TableColumn[EndpointRow]] = [
        TableColumn("REPLICA", lambda one: one["name"]),
        TableColumn("REV", lambda one: one["revision"], right=True),
        TableColumn("NODE", lambda one: one["node"]),
        TableColumn("ADDRESS", lambda one: one["address"]),
        TableColumn("PORTS", lambda one: " ".join(f"{name}={number}" for name, number in one["ports"].items())),
    ]
    if measured:
        columns.append(
            TableColumn("DISTANCE", lambda one: "" if one["distance"] is None else f"{one['distance']:g}", right=True)
        )
    return table(columns, found["items"], wide)


def revision_list(rows: Sequence[RevisionRow], now: float, wide: bool = False) -> Drawing:
    columns: list[TableColumn[RevisionRow]] = [
        TableColumn("REVISION", lambda row: row["number"], right=True),
        TableColumn("AGE", lambda row: age(row["made_at"], now), right=True),
        TableColumn("BY", lambda row: row["cause"]),
        TableColumn("IS", lambda row: "current" if row["current"] else "stable" if row["stable"] else ""),
        TableColumn("RUNS", lambda row: row["image"] or " ".join(row["command"]), folds=True),
    ]
    return table(columns, rows, wide)


_OUTCOMES = {
    "created": "{} created",
    "unchanged": "unchanged",
    "changed": "{} changed in place",
    "replaced": "{} changed; {replicas} {} replaced (revision {revision})",
}


def applied_list(services: Sequence[AppliedService], would: str, workloads: Sequence[str] = ()) -> Drawing:
    """What was done, or with `would` what would be. `workloads`: the names of those that are submitted."""
    lines = []
    for one in services:
        replicas = count(one["replaced"], "replica")
        words = _OUTCOMES[one["outcome"]].format(would, would, replicas=replicas, revision=one["revision"])
        name = one["name"] if one["namespace"] == "default" else f"{one['namespace']}/{one['name']}"
        lines.append(Text(f"service {name}: {' '.join(words.split())}"))
        lines += [
            Text(f"  {change['field']}: {_difference(change['before'], change['after'])}")
            for change in one["changes"][:_CHANGES_SHOWN]
        ]
        if len(one["changes"]) > _CHANGES_SHOWN:
            lines.append(Text(f"  and {len(one['changes']) - _CHANGES_SHOWN} more; -o json lists all"))
    if workloads:
        words = "would submit" if would else "accepted"
        lines.append(Text(f"{words} {count(len(workloads), 'workload')}: {first_of(list(workloads), most=10)}"))
    return Stack(*lines) if lines else Text("nothing to do: all of it is there already")


def _difference(before: Any, after: Any) -> str:
    """Both values; of long ones the part around the first difference."""
    old, new = ("nothing" if value is None else str(value) for value in (before, after))
    same = len(commonprefix([old, new]))
    first = max(0, same - _LONGEST // 3) if max(len(old), len(new)) > _LONGEST else 0
    return f"{_part(old, first)} → {_part(new, first)}"


def _part(text: str, first: int) -> str:
    words = text if not first else f"…{text[first:]}"
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
