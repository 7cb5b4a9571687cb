"""What workloads used: a table with its total, and rows of CSV."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span
from dovetail.cli.render.workloads import note, ran, ran_s
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.workloads import UsagePage, UsageRow

_TIMES = ("submitted_at", "started_at", "finished_at")
CSV_COLUMNS = (
    *("id", "namespace", "name", "user", "queue", "service", "kind", "priority", "state", "exit_code", "message"),
    *("replicas", "attempts", "cpu", "gpu", *_TIMES, "waited_s", "ran_s", "cpu_hours", "gpu_hours"),
)


def usage_list(page: UsagePage, now: float, wide: bool = False) -> Drawing:
    rows, total = page["items"], page["total"]
    if not rows:
        return Text("no workload waited or ran then; --since 7d looks further back")
    gpus = total["gpu_hours"] > 0 or any(row["gpu"] for row in rows)
    sums = f"{hours(total['cpu_hours'])} CPU-hours" + (f", {hours(total['gpu_hours'])} GPU-hours" if gpus else "")
    mixed = len({row["namespace"] for row in rows}) > 1 and not wide
    gpu_hours: list[TableColumn[UsageRow]] = [TableColumn("GPU-H", lambda row: hours(row["gpu_hours"]), right=True)]
    columns: list[TableColumn[UsageRow]] = [
        TableColumn("ID", lambda row: row["id"], right=True, wide=True),
        TableColumn("NAMESPACE", lambda row: row["namespace"], wide=True),
        TableColumn("NAME", lambda row: f"{row['namespace']}/{row['name']}" if mixed else row["name"]),
        TableColumn("USER", lambda row: row["user"]),
        TableColumn("QUEUE", lambda row: row["queue"], wide=True),
        TableColumn("PRIORITY", lambda row: row["priority"], wide=True),
        TableColumn("STATE", lambda row: state(row["state"])),
        TableColumn("EXIT", lambda row: row["exit_code"], right=True, wide=True),
        TableColumn("TASKS", lambda row: row["replicas"], right=True),
        TableColumn("TRIES", lambda row: row["attempts"], right=True, wide=True),
        TableColumn("CPU", lambda row: f"{row['cpu']:g}", right=True, wide=True),
        TableColumn("GPU", lambda row: f"{row['gpu']:g}", right=True, wide=True),
        TableColumn("SUBMITTED", lambda row: moment(row["submitted_at"], now), right=True),
        TableColumn("STARTED", lambda row: moment(row["started_at"], now), right=True, wide=True),
        TableColumn("ENDED", lambda row: moment(row["finished_at"], now), right=True, wide=True),
        TableColumn("WAITED", lambda row: span(row["waited_s"]), right=True),
        TableColumn("RAN", lambda row: ran(row, now), right=True),
        TableColumn("CPU-H", lambda row: hours(row["cpu_hours"]), right=True),
        *(gpu_hours if gpus else []),
        TableColumn("NOTE", note, wide=True),
    ]
    return Stack(Text(f"{count(total['workloads'], 'workload')}, {sums}"), table(columns, rows, wide))


def hours(value: float) -> str:
    """Two figures behind the point; what is there is never shown as nothing."""
    return "<0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def csv_row(row: UsageRow, now: float) -> list[object]:
    """Times in UTC, as ISO 8601 writes them; nothing where there is no value."""
    ran = ran_s(row, now)
    fields: dict[str, object] = {**row, "ran_s": None if ran is None else round(ran, 3)}
    for name in _TIMES:
        fields[name] = _iso(fields[name])
    return ["" if fields.get(name) is None else fields[name] for name in CSV_COLUMNS]


def _iso(at: object) -> str | None:
    return None if not isinstance(at, float | int) else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
