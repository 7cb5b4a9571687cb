"""One workload on one page: definition, timeline, tasks, latest decision, history."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.decision import explanation_view, looked_at_nodes
from dovetail.cli.render.parts.spans import moment, span
from dovetail.cli.render.parts.starts import starts_about
from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import Header, count, pairs, table
from dovetail.cli.render.parts.timeline import timeline
from dovetail.cli.render.workloads import task_list
from dovetail.responses.questions import DecisionRow
from dovetail.responses.system import HistoryRow
from dovetail.responses.workloads import TaskRow, WorkloadDetail

MOST_HISTORY = 15


def description(
    workload: WorkloadDetail,
    tasks: Sequence[TaskRow],
    decisions: Sequence[DecisionRow],
    history: Sequence[HistoryRow],
    now: float,
    wide: bool = False,
) -> RenderableType:
    head = Text.assemble((f"{workload['namespace']}/{workload['name']} ", "bold"), state(workload["state"]))
    parts: list[RenderableType] = [head]
    if workload["message"]:
        parts.append(Text(workload["message"]))
    if start := starts_about(workload, now, rest=workload["active"] > 0):
        parts.append(Text(start))
    parts += [
        timeline(workload, tasks, now),
        Text(""),
        pairs(_facts(workload, now)),
        _title(_task_title(workload, tasks)),
    ]
    parts.append(task_list(tasks, workload["submitted_at"], now, wide))
    if decisions and looked_at_nodes(decisions[0]["explanation"]):
        latest = decisions[0]
        parts.append(_title(f"latest decision, about replica {latest['replica']}, at {moment(latest['at'], now)}"))
        parts.append(explanation_view(latest["explanation"], latest["node"], wide))
    if history:
        parts += [_title("history"), _history(history, workload["submitted_at"], wide)]
    return Group(*parts)


def _title(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _task_title(workload: WorkloadDetail, tasks: Sequence[TaskRow]) -> str:
    total = count(workload["replicas"], "task")
    return total if len(tasks) == workload["replicas"] else f"{total}, the first {len(tasks)}"


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
        ("runs", " ".join(map(_quoted, run.get("command") or []))),
        ("image", run.get("image")),
    ]


def _gang(spec: dict[str, Any]) -> str:
    gang = spec.get("gang")
    return f"at least {gang['min']} tasks together" if gang else ""


def _after(spec: dict[str, Any]) -> str:
    return ", ".join(f"{one['workload']} ({one.get('condition', 'succeeded')})" for one in spec.get("after") or [])


def _amounts(values: dict[str, Any] | None, between: str = " ") -> str:
    given = {name: value for name, value in (values or {}).items() if value not in (None, 0, "0")}
    return ", ".join(f"{name}{between}{value}" for name, value in given.items())


def _quoted(word: str) -> str:
    """As it could be typed in a shell."""
    import shlex

    return shlex.quote(word)


def _history(rows: Sequence[HistoryRow], since: float, wide: bool) -> RenderableType:
    columns = (Header("AFTER", right=True), Header("WHAT"), Header("REPLICA", right=True), Header("", shrinks=True))
    shown = rows if wide else rows[-MOST_HISTORY:]
    lines = [[span(row["at"] - since), row["kind"], row["replica"], row["message"]] for row in shown]
    found = table(columns, lines, wide)
    if len(shown) == len(rows):
        return found
    return Group(Text(f"the last {len(shown)} of {len(rows)} lines; -o wide shows all", style="dim"), found)
