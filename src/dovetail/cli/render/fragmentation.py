"""Fragmentation for people: a line for the cluster, the worst domains of each level, and what typical work finds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.bars import bar, gauge
from dovetail.cli.render.parts.table import TableColumn, and_more, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.questions import FragmentationReport, FragmentedDomain, TypicalTask

WORST_DOMAINS = 5  # of a level; all when wide
FIRST_ASKS = 10

_DOMAINS: list[TableColumn[FragmentedDomain]] = [
    TableColumn("LEVEL", lambda one: one["level"]),
    TableColumn("DOMAIN", lambda one: "" if one["level"] == one["name"] else one["name"], shrinks=True),
    TableColumn("GPUS", lambda one: f"{one['gpus']:g}", right=True),
    TableColumn("FREE", lambda one: f"{one['free_gpus']:.4g}", right=True),
    TableColumn("UNUSABLE", lambda one: f"{one['unusable_gpus']:.1f}", right=True),
    TableColumn("OF WHAT IS FREE", lambda one: gauge(one["unusable_gpus"], one["free_gpus"] or 1, 12)),
    TableColumn("USELESS", lambda one: f"{one['useless_gpus']:.1f}", right=True),
]
_ASKS: list[TableColumn[TypicalTask]] = [
    TableColumn("A TASK ASKS FOR", lambda one: one["ask"], shrinks=True),
    TableColumn("HOW OFTEN", lambda one: Text.assemble(bar(one["share"], 10), f" {one['share']:5.1%}")),
    TableColumn("NODES", lambda one: one["nodes"], right=True),
    TableColumn("TASKS THAT FIT", lambda one: one["tasks"] or Text("none", style="red"), right=True),
]


def fragmentation_report(found: FragmentationReport, wide: bool = False) -> Drawing:
    whole = found["cluster"]
    if not whole["gpus"]:
        return Text("no node that takes work has GPUs")
    worst = _shown(found["domains"], wide)
    parts: list[Drawing] = [_summary(found), table(_DOMAINS, [whole, *worst])]
    parts += and_more(len(found["domains"]) - len(worst), "domain")
    if found["typical"]:
        asks = found["typical"] if wide else found["typical"][:FIRST_ASKS]
        parts += [Text(_title(found, wide), style="dim"), table(_ASKS, asks)]
    return Stack(*parts)


def _summary(found: FragmentationReport) -> Text:
    whole, moves = found["cluster"], found["defragmentation"]
    free = whole["free_gpus"]
    text = Text(f"{free:g} of {whole['gpus']:g} GPUs are free", style="bold")
    if free:
        text.append(f"; a typical task cannot use {_part(whole['unusable_gpus'], free)} of that, ", style="bold")
        text.append(f"no typical task can use {_part(whole['useless_gpus'], free)}", style="bold")
    text.append("\n")
    if not moves["movable"]:
        text.append("no task may be moved", style="dim")
    elif not moves["moves"]:
        text.append(f"moving tasks would win nothing back (estimate; {moves['tried']} were tried)", style="dim")
    else:
        text.append(
            f"moving {count(moves['moves'], 'task')} would win back about {moves['won_gpus']:.1f} GPUs "
            f"(estimate; {moves['tried']} of {moves['movable']} were tried)"
        )
    return text.append("\n")


def _part(gpus: float, free: float) -> str:
    return f"{gpus:.1f} ({gpus / free:.0%})"


def _shown(domains: Sequence[FragmentedDomain], wide: bool) -> list[FragmentedDomain]:
    """Those of each level with most that cannot be used; levels stay in their order, widest first."""
    found: list[FragmentedDomain] = []
    for _, of_level in groupby(domains, key=lambda one: one["level"]):
        worst = sorted(of_level, key=lambda one: (-one["unusable_gpus"], one["name"]))
        found += worst if wide else worst[:WORST_DOMAINS]
    return found


def _title(found: FragmentationReport, wide: bool) -> str:
    known = len(found["typical"])
    if not found["tasks_seen"]:
        return "\ntypical work (a guess from what the cluster has, until work with GPUs comes)"
    which = (
        f"the {FIRST_ASKS} commonest of {known}, -o wide lists all"
        if known > FIRST_ASKS and not wide
        else f"all {known}"
    )
    nowhere = found["unplaceable_share"]
    return f"\ntypical work ({which}; {nowhere:.0%} of tasks fit nowhere)"
