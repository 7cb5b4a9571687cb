"""The whole cluster on one screen: what `top` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.nodes import node_table
from dovetail.cli.render.parts.bars import bar
from dovetail.cli.render.parts.state import tally
from dovetail.cli.render.parts.table import Header, Listing, grid
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span
from dovetail.cli.render.queues import queue_table
from dovetail.client.amounts import shown
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.nodes import NodeRow, ResourceUse
    from dovetail.responses.queues import QueueItem
    from dovetail.responses.system import ClusterSummary

_FIRST = ("cpu", "memory", "gpu", "disk", "slots")
_LINES_AROUND = 9  # summary, titles, headers and the blank lines between


def cluster_frame(
    summary: ClusterSummary,
    nodes: Sequence[NodeRow],
    queue: Sequence[QueueItem],
    waiting: int,
    lines: int,
    now: float,
    wide: bool = False,
    trouble: str = "",
) -> Drawing:
    """`waiting`: how many workloads wait; `queue` may hold only the first. `lines` is the height of the screen: nodes
    and queue share what the summary leaves. `trouble`: why this is not the present state."""
    bars = _use_bars(summary["resources"])
    left = max(6, lines - len(bars.rows) - _LINES_AROUND)
    first = queue[: left // 2]
    busiest = sorted(nodes, key=lambda row: (-row["load"], row["name"]))[: left - len(first)]
    parts: list[Drawing] = [Text(f"as it was last; {trouble}", style="red")] if trouble else []
    parts += [_summary(summary, waiting), bars]
    if busiest:
        some = f"the busiest {len(busiest)} of {count(len(nodes), 'node')}; dovetail nodes lists them"
        which = some if len(busiest) < len(nodes) else "nodes"
        parts += [Text(f"\n{which}", style="dim"), node_table(busiest, wide, compact=True)]
    if first:
        some = f"the first {len(first)} of {count(waiting, 'workload')} that wait; dovetail queue lists them"
        which = some if len(first) < waiting else "workloads that wait; dovetail queue says all of why"
        parts += [Text(f"\n{which}", style="dim"), queue_table(first, now, wide, compact=True)]
    return Stack(*parts)


def _summary(summary: ClusterSummary, waiting: int) -> Text:
    nodes = summary["nodes"]
    statuses = {
        "online": nodes["online"],
        "cordoned": nodes["cordoned"],
        "quarantined": nodes.get("quarantined", 0),
        "backend down": nodes["backend_down"],
        "offline": nodes["offline"],
    }
    line = Text(f"{count(nodes['total'], 'node')}: {tally(statuses) or 'none online'}", style="bold")
    line.append(f"\nworkloads: {tally(summary['workloads']) or 'none yet'}; {waiting:,} waiting")
    line.append(f"\n{count(summary['decisions_total'], 'decision')}, up {span(summary['uptime_s'])}", style="dim")
    line.append(f", version {summary['version']}", style="dim")
    return line


def _use_bars(resources: Mapping[str, ResourceUse]) -> Listing:
    lines = []
    for name in dict.fromkeys([*_FIRST, *resources]):
        use = resources.get(name)
        if use is not None and use["capacity"]:
            amounts = Text(f"{shown(name, use['allocated'])} of {shown(name, use['capacity'])}", style="dim")
            lines.append([name, bar(use["share"], 30, track=True), f"{use['share']:.0%}", amounts])
    return grid((Header(), Header(), Header(right=True), Header()), lines)
