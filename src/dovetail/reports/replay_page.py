"""The report of a replayed day: what came out the same, what another profile would have done, and charts of both."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dovetail.reports.comparison import ReportRun
from dovetail.reports.metrics import duration
from dovetail.reports.page import Panel, cell, empty, table
from dovetail.reports.sweep_report import day_report
from dovetail.simulate.run_figures import RunFigures

MOST_LISTED = 100


def replay_page(answer: Mapping[str, Any], figures: Mapping[str, RunFigures]) -> str:
    """`answer`: as `dovetail replay -o json` prints it."""
    runs = [ReportRun(name, 0, found) for name, found in figures.items()]
    panels = [_unlike(answer)] if answer["unlike"] else []
    notes = []
    if answer["profile"] is not None:
        panels.append(_elsewhere(answer))
        again = f"{answer['own_profile']} again"
        notes.append(
            f"“{again}” plays the recorded arrivals, failures and run times with the profile that was in force: how "
            "far it is from “recorded” shows how well the model fits. Compare other profiles with it."
        )
    title = "Replay of a recorded day" if answer["profile"] is None else f"Replay with {answer['profile']}"
    return day_report(
        title, f"{_moment(answer['begins'])} to {_moment(answer['ends'])}.", answer["answer"], runs, panels, notes
    )


def _unlike(answer: Mapping[str, Any]) -> Panel:
    rows = []
    for one in answer["unlike"][:MOST_LISTED]:
        known = one["recorded"] or one["replayed"]
        task = f"{known['workload']}.{known['replica']} attempt {known['attempt']}"
        cells = [cell(_moment(one["at"])), cell(task), cell(_node(one["recorded"])), cell(_node(one["replayed"]))]
        rows.append([*cells, cell(one["why"], "say")])
    headers = [("Time", ""), ("Task", ""), ("Recorded", ""), ("Decided again", ""), ("Why", "say")]
    return Panel("Decisions that came out differently", "With the same profile.", table(headers, rows), whole=True)


def _elsewhere(answer: Mapping[str, Any]) -> Panel:
    listed = answer["elsewhere"][:MOST_LISTED]
    differ, by_model = len(answer["elsewhere"]), answer["by_model"]
    about = (
        f"Of {answer['placements']:,} placements, {differ:,} differ; {by_model:,} more differ also with the profile "
    )
    about += "that was in force, and are not its doing."
    if len(answer["elsewhere"]) > MOST_LISTED:
        about += f" The first {MOST_LISTED} are listed."
    if not listed:
        return Panel("Placed elsewhere", about, empty("Every task would have been placed where it was."), whole=True)
    rows = [
        [
            cell(_moment(one["at"])),
            cell(
                f"{one['workload']}.{one['replica']}", less="" if one["attempt"] == 1 else f"attempt {one['attempt']}"
            ),
            cell(one["node_then"] or "–"),
            cell(one["node_now"] or "–"),
            cell(_later(one["later_s"]), "num"),
            cell(one["why"], "say"),
        ]
        for one in listed
    ]
    headers = [("Time", ""), ("Task", ""), ("Node then", ""), ("Node now", ""), ("Later by", "num"), ("Why", "say")]
    return Panel("Placed elsewhere", about, table(headers, rows), whole=True)


def _later(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return "0 s" if abs(seconds) < 0.0005 else f"{'−' if seconds < 0 else ''}{duration(abs(seconds))}"


def _node(decision: Mapping[str, Any] | None) -> str:
    return "–" if decision is None else decision["node"] or "waits"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
