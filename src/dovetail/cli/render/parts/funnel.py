"""The funnel of a decision as narrowing bars: how many nodes each filter left.

Filters that refused no node are named in one line.
"""

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.bars import bar
from dovetail.cli.render.parts.table import Header, table
from dovetail.responses.questions import DecisionExplanation

WIDTH = 28
_COLUMNS = (Header(right=True), Header(), Header(), Header(shrinks=True))


def funnel(explanation: DecisionExplanation, chosen: str | None = None) -> RenderableType:
    nodes = explanation["nodes"]
    lines: list[list[object]] = [[nodes, "nodes", bar(1.0 if nodes else 0.0, WIDTH), ""]]
    before = nodes
    idle: list[str] = []
    for step in explanation["funnel"]:
        remaining = step["remaining"]
        if remaining == before:
            idle.append(step["filter"])
            continue
        lost = Text(f"-{before - remaining} {step['reason']}", style="dim")
        lines.append([remaining, step["filter"], bar(remaining / nodes, WIDTH), lost])
        before = remaining
        if not remaining:
            break
    if chosen is not None:
        lines.append([1, "chosen", bar(1 / max(1, nodes), WIDTH, style="green"), Text(chosen, style="bold")])
    steps = table(_COLUMNS, lines)
    return Group(steps, Text(f"refused no node: {', '.join(idle)}", style="dim")) if idle and nodes else steps
