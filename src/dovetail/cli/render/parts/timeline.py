"""The lifecycle of a workload on one line: its steps and the time between them."""

from collections.abc import Sequence

from rich.text import Text

from dovetail.cli.render.parts.spans import moment, span
from dovetail.cli.render.parts.state import state
from dovetail.responses.workloads import TaskRow, WorkloadRow

ENDED = frozenset({"succeeded", "failed", "cancelled"})


def steps(workload: WorkloadRow, tasks: Sequence[TaskRow]) -> list[tuple[str, float]]:
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
    reached = steps(workload, tasks)
    ended = workload["state"] in ENDED
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
