"""One workload on one page: definition, timeline, tasks, attempts, latest decision, history."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail.cli.render.decision import explanation_view, looked_at_nodes
from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import TableColumn, joined, pairs, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span, starts_about
from dovetail.cli.render.workloads import ran, ran_s, task_list
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.combined import WorkloadDescription
    from dovetail.responses.system import HistoryRow
    from dovetail.responses.workloads import AttemptRow, TaskRow, WorkloadDetail

_ENDED = frozenset({"succeeded", "failed", "cancelled"})


def description(whole: WorkloadDescription, counts: tuple[int, int, object], now: float, wide: bool = False) -> Drawing:
    """`counts`: how many tasks and repeated attempts there are, and whether there is more history."""
    workload, tasks, attempts, history = whole["workload"], whole["tasks"], whole["attempts"], whole["history"]
    task_total, attempt_total, more_history = counts
    parts: list[Drawing] = [_head(workload)]
    if workload["message"]:
        parts.append(Text(workload["message"]))
    parts += _failure_hint(workload, tasks)
    if start := starts_about(workload, now, rest=workload["active"] > 0):
        parts.append(Text(start))
    parts += [timeline(workload, attempts, now), Text(""), pairs(_facts(workload, attempt_total, now))]
    parts.append(_title(_some(len(tasks), task_total, workload["replicas"])))
    parts.append(task_list(tasks, workload["submitted_at"], now, wide))
    if len(tasks) < task_total:
        parts.append(_rest(f"{task_total - len(tasks)} more: dovetail describe {_ref(workload)} --tasks all"))
    if attempts:
        parts += [_title("attempts of tasks that were tried again or moved, newest first"), attempt_list(attempts, now)]
        if len(attempts) < attempt_total:
            parts.append(_rest(f"{attempt_total - len(attempts)} more: dovetail describe {_ref(workload)} --all"))
    if whole["decisions"] and looked_at_nodes(whole["decisions"][0]["explanation"]):
        latest = whole["decisions"][0]
        parts.append(_title(f"latest decision, about replica {latest['replica']}, at {moment(latest['at'], now)}"))
        parts.append(explanation_view(latest["explanation"], latest["node"], wide))
    if history:
        parts += [_title("history, newest first"), _history(history, workload["submitted_at"], wide)]
        if more_history is not None:
            parts.append(_rest(f"there is more: dovetail describe {_ref(workload)} --all"))
    return Stack(*parts)


def _head(workload: WorkloadDetail) -> Text:
    return Text.assemble((f"{workload['namespace']}/{workload['name']} ", "bold"), state(workload["state"]))


def _ref(workload: WorkloadDetail) -> str:
    """How to write the workload in a command."""
    return workload["name"] if workload["namespace"] == "default" else f"{workload['namespace']}/{workload['name']}"


def _failure_hint(workload: WorkloadDetail, tasks: Sequence[TaskRow]) -> list[Drawing]:
    """Which task failed last, why, and the command that shows what it wrote."""
    failed = next((task for task in tasks if task["state"] == "failed"), None)
    if failed is None:
        return []
    number = f"{workload['failed']} of {count(workload['replicas'], 'task')} failed; the last was replica"
    words = f"{number} {failed['replica']}: {failed['message'] or failed['reason']}"
    found: list[Drawing] = [] if workload["replicas"] == 1 else [Text(words)]
    if failed["attempt"]:
        found.append(Text(f"what it wrote: dovetail logs {_ref(workload)}.{failed['replica']}"))
    return found


def _some(shown: int, total: int, replicas: int) -> str:
    head = count(total, "task") if total == replicas else f"{total} of {count(replicas, 'task')}"
    return head if shown == total else f"{head}, {shown} of them, failed and unusual ones first"


def _rest(words: str) -> Text:
    return Text(words, style="dim")


def attempt_list(rows: Sequence[AttemptRow], now: float) -> Drawing:
    """One line an attempt: where it ran, since when, for how long, and how it ended."""
    columns: list[TableColumn[AttemptRow]] = [
        TableColumn("REPLICA", lambda row: row["replica"], right=True),
        TableColumn("TRY", lambda row: row["attempt"], right=True),
        TableColumn("NODE", lambda row: row["node"]),
        TableColumn("STARTED", lambda row: moment(row["started_at"], now), right=True),
        TableColumn("RAN", lambda row: _ran(row, now), right=True),
        TableColumn("THEN", lambda row: state(row["state"].replace("_", " "))),
        TableColumn("EXIT", lambda row: row["exit_code"], right=True),
        TableColumn("NOTE", lambda row: row["message"], folds=True),
    ]
    return table(columns, rows)


def _ran(row: AttemptRow, now: float) -> str:
    return "-" if row["started_at"] is None else span((row["ended_at"] or now) - row["started_at"])


def _title(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _steps(workload: WorkloadDetail) -> list[tuple[str, float]]:
    """The steps that happened and when, in order."""
    happened = [
        ("submitted", workload["submitted_at"]),
        ("placed", workload["placed_at"]),
        ("bound", workload.get("bound_at")),
        ("running", workload["started_at"]),
        (workload["state"], workload["finished_at"]),
    ]
    return [(word, at) for word, at in happened if at is not None]


def timeline(workload: WorkloadDetail, attempts: Sequence[AttemptRow], now: float) -> Text:
    """`submitted 12:01:03 ─ 1.2s ─ placed ─ 0.1s ─ bound ─ 0.3s ─ ● running 14s so far`"""
    line = Text()
    reached = _steps(workload)
    for index, (word, at) in enumerate(reached):
        if index:
            line.append(f" ─ {span(at - reached[index - 1][1])} ─ ", style="dim")
        last = index == len(reached) - 1
        line.append_text(state(word) if last and word == workload["state"] else Text(word))
        if not index:
            line.append(f" {moment(at, now)}", style="dim")
    if workload["state"] not in _ENDED:
        word, at = reached[-1]
        if word != workload["state"]:
            line.append(" ─ ", style="dim")
            line.append_text(state("queued" if workload["state"] == "pending" else workload["state"]))
        line.append(f" {span(_so_far(workload, attempts, at, now))} so far", style="dim")
    return line


def _so_far(workload: WorkloadDetail, attempts: Sequence[AttemptRow], since: float, now: float) -> float:
    """How long it is in its state: while it runs, without the time between attempts."""
    if workload["state"] == "running":
        return ran_s(workload, now) or 0.0
    ended = [row["ended_at"] for row in attempts if row["ended_at"] is not None]
    if workload["started_at"] is not None:
        ended.append(workload["started_at"] + workload["ran_s"])  # the end of its only attempt, which `attempts` omits
    return now - max([since, *ended])


def _facts(workload: WorkloadDetail, attempts: int, now: float) -> list[tuple[str, object]]:
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
        ("queue", workload.get("queue") or spec.get("queue")),
        ("gang", _gang(spec)),
        ("at once", spec.get("concurrency")),
        ("after", _after(spec)),
        ("ran", f"{ran(workload, now)}, without the time between attempts" if attempts else ""),
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
    """`cpu 2, gpu_model A100 or H100`: without what is not asked for; a list names what is accepted."""
    given = {name: value for name, value in (values or {}).items() if value not in (None, 0, "0", [])}
    shown = {name: " or ".join(map(str, value)) if isinstance(value, list) else value for name, value in given.items()}
    return joined(shown, between)


def _history(rows: Sequence[HistoryRow], since: float, wide: bool) -> Drawing:
    columns: list[TableColumn[HistoryRow]] = [
        TableColumn("AFTER", lambda row: span(row["at"] - since), right=True),
        TableColumn("WHAT", lambda row: row["kind"]),
        TableColumn("REPLICA", lambda row: row["replica"], right=True),
        TableColumn("", lambda row: row["message"], shrinks=True),
    ]
    return table(columns, rows, wide)
