"""Adds the measured use to rows of tasks."""

from typing import Any

from dovetail.control.plane import ControlPlane
from dovetail.model.command import attempt_key
from dovetail.model.task import TaskId


def with_use(plane: ControlPlane, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_with_use(plane, row) for row in rows]


def _with_use(plane: ControlPlane, row: dict[str, Any]) -> dict[str, Any]:
    if row["state"] not in ("running", "stopping") or row["backend"] is None:
        return row
    latest = plane.task_use.latest(row["backend"], attempt_key(TaskId(row["workload"], row["replica"]), row["attempt"]))
    return row if latest is None else {**row, "use": {**latest.use.model_dump(), "measured_at": latest.at}}
