"""Virtual machines, their snapshots and migrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span
from dovetail.model.text.amounts import show_bytes
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.vms import VmChanged, VmMigration, VmRow, VmSnapshotRow


def vm_list(rows: Sequence[VmRow], wide: bool = False) -> Drawing:
    if not rows:
        return Text("there are no VMs; the docs say how to add a hypervisor: docs/backends/libvirt.md")
    columns: list[TableColumn[VmRow]] = [
        TableColumn("NODE", lambda row: row["node"]),
        TableColumn("VM", lambda row: row["name"]),
        TableColumn("WORKLOAD", _workload),
        TableColumn("POWER", lambda row: row["power"]),
        TableColumn("CPUS", lambda row: str(row["cpus"]), right=True),
        TableColumn("MEMORY", lambda row: show_bytes(row["memory_bytes"]), right=True),
        TableColumn("USED", lambda row: _bytes(row["used_memory_bytes"]), right=True),
    ]
    ours = sum(row["workload"] is not None for row in rows)
    others = f", {len(rows) - ours} made by others" if ours < len(rows) else ""
    return Stack(Text(f"{count(len(rows), 'VM')}{others}"), table(columns, rows, wide))


def _workload(row: VmRow) -> str:
    if row["workload"] is None:
        return "-"
    return row["workload"] if row["namespace"] == "default" else f"{row['namespace']}/{row['workload']}"


def _bytes(amount: int | None) -> str:
    return "-" if amount is None else show_bytes(amount)


def vm_changed(changed: VmChanged, name: str) -> Drawing:
    return Text(f"{name}: {changed['done']}")


def snapshot_list(rows: Sequence[VmSnapshotRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("it has no snapshots; take one: dovetail vm snapshot NAME SNAPSHOT")
    columns: list[TableColumn[VmSnapshotRow]] = [
        TableColumn("SNAPSHOT", lambda row: row["name"]),
        TableColumn("TAKEN", lambda row: moment(row["made_at"], now)),
        TableColumn("POWER", lambda row: row["power"]),
        TableColumn("CURRENT", lambda row: "yes" if row["current"] else ""),
    ]
    return table(columns, rows, wide)


def progress_line(found: VmMigration) -> str:
    sent, total = show_bytes(found["sent_bytes"] or 0), show_bytes(found["total_bytes"] or 0)
    dirty = found["dirty_bytes_per_s"]
    changes = "" if dirty is None else f", {show_bytes(dirty)}/s change meanwhile"
    return f"round {found['rounds']}: {sent} sent, {_bytes(found['remaining_bytes'])} of {total} left{changes}"


def migration(found: VmMigration) -> Drawing:
    if found["state"] == "none":
        return Text("it is on its way; dovetail vm list says where it is")
    path = f"{found['source']} → {found['target']}"
    if found["state"] == "running":
        return Text(f"{path}: {progress_line(found)}")
    took = span(found["elapsed_s"])
    if found["state"] == "failed":
        return Text(f"{path}: failed after {took}: {found['message']}")
    paused = "" if found["downtime_s"] is None else f", paused for {found['downtime_s'] * 1000:.0f} ms"
    return Text(f"{path}: done in {took}, {_bytes(found['sent_bytes'])} sent{paused}")
