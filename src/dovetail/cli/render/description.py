"""One workload on one page: definition, timeline, tasks, latest decision, history."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail.cli.render.decision import explanation_view, looked_at_nodes
from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import TableColumn, joined, pairs, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span, starts_about
from dovetail.cli.render.workloads import task_list
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.questions import DecisionRow
    from dovetail.responses.system import HistoryRow
    from dovetail.responses.workloads import TaskRow, WorkloadDetail, WorkloadRow

MOST_HISTORY = 15
_ENDED = frozenset({"succeeded", "failed", "cancelled"})


def description(
    workload: WorkloadDetail,
    tasks: Sequence[TaskRow],
    decisions: Sequence[DecisionRow],
    history: Sequence[HistoryRow],
    now: float,
    wide: bool = False,
) -> Drawing:
    head = Text.assemble((f"{workload['namespace']}/{workload['name']} ", "bold"), state(workload["state"]))
    parts: list[Drawing] = [head]
    if workload["message"]:
        parts.append(Text(workload["message"]))
    if start := starts_about(workload, now, rest=workload["active"] > 0):
        parts.append(Text(start))
    total = count(workload["replicas"], "task")
    first = "" if len(tasks) == workload["replicas"] else f", the first {len(tasks)}"
    parts += [
        timeline(workload, tasks, now),
        Text(""),
        pairs(_facts(workload, now)),
        _title(f"{total}{first}"),
        task_list(tasks, workload["submitted_at"], now, wide),
    ]
    if decisions and looked_at_nodes(decisions[0]["explanation"]):
        latest = decisions[0]
        parts.append(_title(f"latest decision, about replica {latest['replica']}, at {moment(latest['at'], now)}"))
        parts.append(explanation_view(latest["explanation"], latest["node"], wide))
    if history:
        parts += [_title("history"), _history(history, workload["submitted_at"], wide)]
    return Stack(*parts)


def _title(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _steps(workload: WorkloadRow, tasks: Sequence[TaskRow]) -> list[tuple[str, float]]:
    """The steps that happened and when, in order."""
    placed = min((task["placed_at"] for task in tasks if task["placed_at"] is not None), default=None)
    happened = [
        ("submitted", workload["submitted_at"]),
        ("placed", placed),
        ("running", workload["started_at"]),
        (workload["state"], workload["finished_at"]),
    ]
    return [(word, at) for word, at in happened if at is not None]


def timeline(workload: WorkloadRow, tasks: Sequence[TaskRow], now: float) -> Text:
    """`submitted 12:01:03 ─ 1.2s ─ placed ─ 0.1s ─ ● running 14s so far`"""
    line = Text()
    reached = _steps(workload, tasks)
    ended = workload["state"] in _ENDED
    for index, (word, at) in enumerate(reached):
        if index:
            line.append(f" ─ {span(at - reached[index - 1][1])} ─ ", style="dim")
        last = index == len(reached) - 1
        line.append_text(state(word) if last and word == workload["state"] else Text(word))
        if not index:
            line.append(f" {moment(at, now)}", style="dim")
    if not ended:
        word, at = reached[-1]
        if word != workload["state"]:
            line.append(" ─ ", style="dim")
            line.append_text(state(workload["state"]))
        line.append(f" {span(now - at)} so far", style="dim")
    return line


def _facts(workload: WorkloadDetail, now: float) -> list[tuple[str, object]]:
    spec = workload["spec"]
    run: dict[str, Any] = spec.get("run") or {}
    return [
        ("id", workload["id"]),
        ("kind", workload["kind"]),
        ("priority", workload["priority"]),
        ("user", workload["user"]),
        ("service", workload["service"]),
        ("profile", spec.get("profile")),
        ("scheduler", spec.get("scheduler")),
        ("queue", spec.get("queue")),
        ("gang", _gang(spec)),
        ("at once", spec.get("concurrency")),
        ("after", _after(spec)),
        ("finished", None if workload["finished_at"] is None else moment(workload["finished_at"], now)),
        ("each task asks", _amounts(spec.get("resources"))),
        ("and may use", _amounts(spec.get("limits"))),
        ("node selector", _amounts(spec.get("node_selector"), "=")),
        ("labels", _amounts(spec.get("labels"), "=")),
        ("runs", shlex.join(run.get("command") or [])),
        ("image", run.get("image")),
    ]


def _gang(spec: dict[str, Any]) -> str:
    gang = spec.get("gang")
    return f"at least {gang['min']} tasks together" if gang else ""


def _after(spec: dict[str, Any]) -> str:
    return ", ".join(f"{one['workload']} ({one.get('condition', 'succeeded')})" for one in spec.get("after") or [])


def _amounts(values: dict[str, Any] | None, between: str = " ") -> str:
    return joined({name: value for name, value in (values or {}).items() if value not in (None, 0, "0")}, between)


def _history(rows: Sequence[HistoryRow], since: float, wide: bool) -> Drawing:
    columns: list[TableColumn[HistoryRow]] = [
        TableColumn("AFTER", lambda row: span(row["at"] - since), right=True),
        TableColumn("WHAT", lambda row: row["kind"]),
        TableColumn("REPLICA", lambda row: row["replica"], right=True),
        TableColumn("", lambda row: row["message"], shrinks=True),
    ]
    shown = rows if wide else rows[-MOST_HISTORY:]
    found = table(columns, shown, wide)
    if len(shown) == len(rows):
        return found
    return Stack(Text(f"the last {len(shown)} of {len(rows)} lines; -o wide shows all", style="dim"), found)
