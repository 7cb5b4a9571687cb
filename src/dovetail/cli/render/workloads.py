"""Workloads and their tasks as tables, with a line of summary."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.spans import age, moment, span
from dovetail.cli.render.parts.starts import starts_in
from dovetail.cli.render.parts.state import state, tally
from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.workloads import PredictedStart, TaskRow, WorkloadRow

_WORKLOAD_COLUMNS = (
    Header("ID", right=True, wide=True),
    Header("NAMESPACE", wide=True),
    Header("NAME"),
    Header("KIND", wide=True),
    Header("STATE"),
    Header("TASKS", right=True),
    Header("PRIORITY"),
    Header("AGE", right=True),
    Header("RAN", right=True),
    Header("USER", wide=True),
    Header("SERVICE", wide=True),
    Header("SUBMITTED", wide=True),
    Header("NOTE", shrinks=True),
)
_TASK_COLUMNS = (
    Header("REPLICA", right=True),
    Header("STATE"),
    Header("NODE"),
    Header("BACKEND", wide=True),
    Header("TRIES", right=True),
    Header("EXIT", right=True),
    Header("WAITED", right=True, wide=True),
    Header("RAN", right=True),
    Header("NOTE", shrinks=True),
)
_AFTER_NODE = 3


def workload_list(rows: Sequence[WorkloadRow], now: float, wide: bool = False, more: bool = False) -> RenderableType:
    if not rows:
        return Text("no workloads here; submit one: dovetail submit --name hello -- echo hi")
    found = Counter(row["state"] for row in rows)
    head = f"{'the newest ' if more else ''}{count(len(rows), 'workload')}: {tally(found)}"
    mixed = len({row["namespace"] for row in rows}) > 1 and not wide
    return Group(Text(head), table(_WORKLOAD_COLUMNS, [_workload(row, now, mixed) for row in rows], wide))


def _workload(row: WorkloadRow, now: float, mixed: bool) -> list[object]:
    return [
        row["id"],
        row["namespace"],
        f"{row['namespace']}/{row['name']}" if mixed else row["name"],
        row["kind"],
        state(row["state"]),
        f"{row['active'] + row['succeeded']}/{row['replicas']}",
        row["priority"],
        age(row["submitted_at"], now),
        ran(row, now),
        row["user"],
        row["service"],
        moment(row["submitted_at"], now),
        _start_and_note(row, now),
    ]


def _start_and_note(row: WorkloadRow, now: float) -> str:
    """A workload that was asked for by name also shows when it will probably start."""
    start = starts_in(cast("PredictedStart", row), now) if row.get("starts_at") is not None else ""
    return "; ".join(part for part in (start and f"starts {start}", note(row)) if part)


def task_list(rows: Sequence[TaskRow], submitted_at: float, now: float, wide: bool = False) -> RenderableType:
    lines: list[list[object]] = []
    with_gpus = any(row.get("devices") for row in rows)
    for row in rows:
        placed_at = row["placed_at"]
        waited = (placed_at if placed_at is not None else now) - submitted_at
        lines.append(
            [
                row["replica"],
                state(row["state"]),
                row["node"],
                *([", ".join(map(str, row.get("devices", ())))] if with_gpus else []),
                row["backend"],
                row["attempt"],
                row["exit_code"],
                span(waited),
                ran(row, now),
                note(row),
            ]
        )
    columns = (
        (*_TASK_COLUMNS[:_AFTER_NODE], Header("GPU"), *_TASK_COLUMNS[_AFTER_NODE:]) if with_gpus else _TASK_COLUMNS
    )
    return table(columns, lines, wide)


def ran(row: WorkloadRow | TaskRow, now: float) -> str:
    """How long it ran, or runs so far."""
    if row["started_at"] is None:
        return "-"
    finished_at = row["finished_at"]
    return span((now if finished_at is None else finished_at) - row["started_at"])


def note(row: WorkloadRow | TaskRow) -> str:
    """The reason for the state, where it says more than the state."""
    words = row["message"] or row["reason"]
    return "" if words == row["state"] else words
