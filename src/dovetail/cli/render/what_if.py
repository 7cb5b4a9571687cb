"""What changes would make different: sentences, both futures side by side, then the lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail.cli.render.parts.table import Header, TableColumn, and_more, grid, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span

if TYPE_CHECKING:
    from dovetail.responses.snapshots import (
        ChangedWorkload,
        ExplainedWorkloads,
        OtherChoice,
        ProfilePreview,
        WhatIfAnswer,
    )

SHOWN = 10
_FIGURES = (
    ("mean wait", "mean_wait_s", span),
    ("95% wait", "p95_wait_s", span),
    ("mean slowdown", "mean_slowdown", "{:.2f}".format),
    ("ended", "ended", "{:.0f}".format),
    ("short of nodes", "unplaced", "{:.0f}".format),
    ("preemptions", "preemptions", "{:.0f}".format),
    ("GPUs fragmented", "fragmentation", "{:.1%}".format),
    ("fairness", "fairness", "{:.3f}".format),
)


def what_if(answer: WhatIfAnswer, wide: bool = False) -> Drawing:
    parts: list[Drawing] = [Text(sentence) for sentence in answer["sentences"]]
    parts += [Text(""), _both(answer)]
    differences = answer["differences"]
    for title, part in (("starts sooner", differences["started"]), ("starts later", differences["delayed"])):
        parts += _workloads(title, part["items"], part["count"], wide)
    parts += _moved(answer, wide)
    for title, trouble in (
        ("NO NODE FOR", differences["unplaced"]),
        ("WOULD FAIL", differences["failed"]),
        ("WOULD BE PREEMPTED", differences["preempted"]),
    ):
        parts += _trouble(title, trouble, wide)
    return Stack(*parts)


def _both(answer: WhatIfAnswer) -> Drawing:
    """Differences only, and the profile."""
    before, after = answer["before"], answer["after"]
    rows: list[list[object]] = []
    if before["profile"] != after["profile"]:
        rows.append(["profile", before["profile"], after["profile"]])
    for title, name, shown in _FIGURES:
        was, now = before["figures"].get(name), after["figures"].get(name)
        if was != now:
            rows.append([title, *("-" if value is None else shown(value) for value in (was, now))])
    for name, use in answer["differences"]["utilisation"].items():
        if f"{use['before']:.1%}" != f"{use['after']:.1%}":
            rows.append([f"{name} used", f"{use['before']:.1%}", f"{use['after']:.1%}"])
    if not rows:
        return Text(f"no figure differs over {span(answer['horizon_s'])}")
    over = f"OVER {span(answer['horizon_s']).upper()}"
    return grid([Header(over), Header("BEFORE", right=True), Header("AFTER", right=True)], rows)


def _workloads(title: str, items: Sequence[ChangedWorkload], total: int, wide: bool) -> list[Drawing]:
    if not total:
        return []
    columns: list[TableColumn[ChangedWorkload]] = [
        TableColumn(title.upper(), lambda one: f"{one['namespace']}/{one['name']}"),
        TableColumn("BEFORE", lambda one: _when(one["before_s"]), right=True),
        TableColumn("AFTER", lambda one: _when(one["after_s"]), right=True),
    ]
    listed = items if wide else items[:SHOWN]
    return [Text(""), table(columns, listed, wide), *and_more(total - len(listed), "workload", _more(listed, items))]


def _more(listed: Sequence[Any], items: Sequence[Any]) -> str:
    return "-o wide" if len(listed) < len(items) else "a shorter --horizon"


def _when(seconds: float | None) -> str:
    return "-" if seconds is None else "now" if seconds < 1 else f"in {span(seconds)}"


def _moved(answer: WhatIfAnswer, wide: bool) -> list[Drawing]:
    part = answer["differences"]["moved"]
    if not part["count"]:
        return []
    columns: list[TableColumn[Any]] = [
        TableColumn("WOULD MOVE", lambda one: f"{one['namespace']}/{one['name']}.{one['replica']}"),
        TableColumn("FROM", lambda one: one["from"]),
        TableColumn("TO", lambda one: one["to"]),
        TableColumn("WHEN", lambda one: _when(one["at_s"]), right=True),
    ]
    items = part["items"] if wide else part["items"][:SHOWN]
    return [
        Text(""),
        table(columns, items, wide),
        *and_more(part["count"] - len(items), "task", _more(items, part["items"])),
    ]


def _trouble(title: str, part: ExplainedWorkloads, wide: bool) -> list[Drawing]:
    if not part["count"]:
        return []
    columns: list[TableColumn[Any]] = [
        TableColumn(title, lambda one: f"{one['namespace']}/{one['name']}"),
        TableColumn("BEFORE", lambda one: _when(one["before_s"]), right=True),
        TableColumn("WHY", lambda one: one["why"], folds=True),
    ]
    items = part["items"] if wide else part["items"][:SHOWN]
    return [
        Text(""),
        table(columns, items, wide),
        *and_more(part["count"] - len(items), "workload", _more(items, part["items"])),
    ]


def preview(answer: ProfilePreview, wide: bool = False) -> Drawing:
    parts: list[Drawing] = [Text(sentence) for sentence in answer["sentences"]]
    if not answer["decisions"]:
        return Stack(*parts)
    before, after = answer["before"], answer["after"]
    rows: list[list[object]] = [
        ["nodes in use", before["nodes_in_use"], after["nodes_in_use"]],
        ["empty nodes", before["empty_nodes"], after["empty_nodes"]],
        ["GPUs of no use", f"{before['unusable_gpus']:.1f}", f"{after['unusable_gpus']:.1f}"],
    ]
    headers = [
        Header(),
        Header(answer["instead_of"].upper(), right=True),
        Header(answer["profile"].upper(), right=True),
    ]
    parts += [Text(""), grid(headers, rows)]
    columns: list[TableColumn[OtherChoice]] = [
        TableColumn("TASK OF", lambda one: f"{one['namespace']}/{one['name']}"),
        TableColumn("IS ON", lambda one: one["node"]),
        TableColumn("WOULD BE ON", lambda one: one["would_be"] or "no node"),
    ]
    if answer["examples"]:
        listed = answer["examples"] if wide else answer["examples"][:SHOWN]
        others = answer["different"] + answer["no_node"] - len(listed)
        parts += [Text(""), table(columns, listed, wide), *and_more(others, "task", _more(listed, answer["examples"]))]
    return Stack(*parts)
