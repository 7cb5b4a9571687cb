"""Workloads and their tasks as tables, with a line of summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dovetail.cli.render.parts.names import name_of, plain_name
from dovetail.cli.render.parts.state import state, tally
from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.task_use import use_columns
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age, moment, span, starts_in
from dovetail.model.text.listing import count, ranges

if TYPE_CHECKING:
    from dovetail.responses.workloads import PredictedStart, TaskRow, WorkloadRow


def workload_list(rows: Sequence[WorkloadRow], now: float, wide: bool = False, more: bool = False) -> Drawing:
    if not rows:
        return Text("no workloads here; submit one: dovetail submit --name hello -- echo hi")
    found = Counter(row["state"] for row in rows)
    head = f"{'the newest ' if more else ''}{count(len(rows), 'workload')}: {tally(found)}"
    return Stack(Text(head), table(_columns(rows, now, wide), rows, wide))


def further_rows(first: Sequence[WorkloadRow], rows: Sequence[WorkloadRow], now: float, wide: bool = False) -> Drawing:
    """Rows below a table that was drawn before, in columns at least as wide."""
    return table(_columns([*first, *rows], now, wide), [*first, *rows], wide).below(len(first))


def what_counts(row: WorkloadRow) -> object:
    """What of a row is a change, and not only time that passes."""
    return (row["state"], row["pending"], row["active"], row["succeeded"], row["failed"], row["cancelled"], note(row))


def _columns(rows: Sequence[WorkloadRow], now: float, wide: bool) -> list[TableColumn[WorkloadRow]]:
    name = plain_name if wide else name_of(rows)
    return [
        TableColumn("ID", lambda row: row["id"], right=True, wide=True),
        TableColumn("NAMESPACE", lambda row: row["namespace"], wide=True),
        TableColumn("NAME", name),
        TableColumn("KIND", lambda row: row["kind"], wide=True),
        TableColumn("STATE", lambda row: state(row["state"])),
        TableColumn("TASKS", lambda row: f"{row['active'] + row['succeeded']}/{row['replicas']}", right=True),
        TableColumn("PRIORITY", lambda row: row["priority"]),
        TableColumn("AGE", lambda row: age(row["submitted_at"], now), right=True),
        TableColumn("RAN", lambda row: ran(row, now), right=True),
        TableColumn("USER", lambda row: row["user"], wide=True),
        TableColumn("SERVICE", lambda row: row["service"], wide=True),
        TableColumn("SUBMITTED", lambda row: moment(row["submitted_at"], now), wide=True),
        TableColumn("NOTE", lambda row: _start_and_note(row, now), folds=True),
    ]


def _start_and_note(row: WorkloadRow, now: float) -> str:
    """A workload that was asked for by name also shows when it will probably start."""
    start = starts_in(cast("PredictedStart", row), now) if row.get("starts_at") is not None else ""
    return "; ".join(part for part in (start and f"starts {start}", note(row)) if part)


def task_list(rows: Sequence[TaskRow], submitted_at: float, now: float, wide: bool = False) -> Drawing:
    devices: list[TableColumn[TaskRow]] = [TableColumn("GPU", lambda row: ranges(row.get("devices", ())))]
    columns: list[TableColumn[TaskRow]] = [
        TableColumn("REPLICA", lambda row: row["replica"], right=True),
        TableColumn("STATE", lambda row: state(row["state"])),
        TableColumn("NODE", lambda row: row["node"]),
        *(devices if any(row.get("devices") for row in rows) else []),
        TableColumn("BACKEND", lambda row: row["backend"], wide=True),
        TableColumn("TRIES", lambda row: row["attempt"], right=True),
        TableColumn("EXIT", lambda row: row["exit_code"], right=True),
        TableColumn("WAITED", lambda row: span(_placed_at(row, now) - submitted_at), right=True, wide=True),
        TableColumn("RAN", lambda row: ran(row, now), right=True),
        *use_columns(rows),
        TableColumn("NOTE", note, folds=True),
    ]
    return table(columns, rows, wide)


def _placed_at(row: TaskRow, now: float) -> float:
    return now if row["placed_at"] is None else row["placed_at"]


def ran(row: WorkloadRow | TaskRow, now: float) -> str:
    """How long it ran, or runs so far: a workload without the time between attempts, a task in its latest attempt."""
    if "ran_s" in row:
        return span(ran_s(cast("WorkloadRow", row), now))
    if row["started_at"] is None:
        return "-"
    finished_at = row["finished_at"]
    return span((now if finished_at is None else finished_at) - row["started_at"])


def ran_s(row: WorkloadRow, now: float) -> float | None:
    """None for work that never ran."""
    if row["started_at"] is None:
        return None
    since = row["running_since"]
    return row["ran_s"] + (0.0 if since is None else max(0.0, now - since))


def note(row: WorkloadRow | TaskRow) -> str:
    """The reason for the state, where it says more than the state."""
    words = row["message"] or row["reason"]
    return "" if words == row["state"] else words
