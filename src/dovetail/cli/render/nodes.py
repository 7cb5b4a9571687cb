"""Nodes as a table with bars of use, and the tasks of one node."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.bars import gauge
from dovetail.cli.render.parts.spans import age
from dovetail.cli.render.parts.state import state, tally
from dovetail.cli.render.parts.table import Header, Listing, count, table
from dovetail.client.amounts import shown
from dovetail.responses.nodes import NodeRow, NodeTask

_RESOURCES = ("cpu", "memory", "gpu", "disk")
_ONLY_WIDE = ("disk",)
MOST_TROUBLES = 5


def node_list(rows: Sequence[NodeRow], wide: bool = False) -> RenderableType:
    if not rows:
        return Text("no nodes; register one (dovetail nodes register -f FILE) or configure a backend")
    found = Counter(row["status"] for row in rows)
    tasks = count(sum(row["tasks"] for row in rows), "task")
    parts: list[RenderableType] = [Text(f"{count(len(rows), 'node')}: {tally(found)}; {tasks} there")]
    parts.append(node_table(rows, wide))
    return Group(*parts, *([] if wide else _troubles(rows)))


def _troubles(rows: Sequence[NodeRow]) -> list[RenderableType]:
    """Why nodes are in quarantine, which an operator should look into."""
    told = [f"{row['name']}: {row['reason']}" for row in rows if row["status"] == "quarantined"]
    if len(told) > MOST_TROUBLES:
        told = [*told[:MOST_TROUBLES], f"and {len(told) - MOST_TROUBLES} more; -o wide shows why"]
    return [Text(f"\n{line}" if not index else line, style="yellow") for index, line in enumerate(told)]


def node_table(rows: Sequence[NodeRow], wide: bool = False) -> Listing:
    """A bar for each resource that any of these nodes has."""
    names = [name for name in _RESOURCES if any(_has(row, name) for row in rows)]
    columns = (
        Header("NAME"),
        Header("STATUS"),
        Header("TASKS", right=True),
        *(Header(name.upper(), wide=name in _ONLY_WIDE) for name in names),
        Header("BACKEND", wide=True),
        Header("LABELS", wide=True),
        Header("TAINTS", wide=True),
        Header("NOTE", wide=True),
    )
    return table(columns, [_node(row, names, wide) for row in rows], wide)


def _has(row: NodeRow, name: str) -> bool:
    return name in row["resources"] and row["resources"][name]["capacity"] > 0


def _node(row: NodeRow, names: Sequence[str], wide: bool) -> list[object]:
    return [
        row["name"],
        state(row["status"]),
        row["tasks"],
        *(_use(row, name, wide) for name in names),
        row["backend"],
        ",".join(f"{key}={value}" for key, value in sorted(row["labels"].items())),
        ",".join(row["taints"]),
        row["reason"],
    ]


def _use(row: NodeRow, name: str, wide: bool) -> Text:
    """What is taken: allocated to tasks and held by reservations."""
    use = row["resources"].get(name)
    if use is None:
        return gauge(0, 0)
    found = gauge(use["allocated"] + use["reserved"], use["capacity"])
    if wide and use["capacity"]:
        found.append(f" of {shown(name, use['capacity'])}", style="dim")
    return found


def node_task_list(rows: Sequence[NodeTask], now: float) -> RenderableType:
    columns = [Header("WORKLOAD"), Header("REPLICA", right=True), Header("STATE"), Header("HERE FOR", right=True)]
    lines: list[list[object]] = [
        [f"{row['namespace']}/{row['name']}", row["replica"], state(row["state"]), age(row["placed_at"], now)]
        for row in rows
    ]
    if any(row.get("devices") for row in rows):
        columns.append(Header("GPU"))
        lines = [[*line, ", ".join(map(str, row.get("devices", ())))] for line, row in zip(lines, rows, strict=True)]
    return table(columns, lines)
