"""The pending queue as a table."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.spans import span
from dovetail.cli.render.parts.starts import starts_in
from dovetail.cli.render.parts.table import Header, Listing, count, table
from dovetail.responses.queues import QueueItem

_COLUMNS = (
    Header("#", right=True),
    Header("ID", right=True, wide=True),
    Header("NAMESPACE", wide=True),
    Header("NAME"),
    Header("QUEUE", wide=True),
    Header("USER", wide=True),
    Header("PRIORITY"),
    Header("TASKS", right=True),
    Header("WAITED", right=True),
    Header("STARTS"),
    Header("REASON", wide=True),
    Header("WHY", shrinks=True),
)


def queue_list(rows: Sequence[QueueItem], now: float, wide: bool = False) -> RenderableType:
    if not rows:
        return Text("nothing waits")
    tasks = sum(row["pending"] for row in rows)
    longest = max(row["waited_s"] for row in rows)
    head = f"{count(len(rows), 'workload')} with {count(tasks, 'task')} waiting, the longest for {span(longest)}"
    return Group(Text(head), queue_table(rows, now, wide))


def queue_table(rows: Sequence[QueueItem], now: float, wide: bool = False) -> Listing:
    """TASKS counts tasks without a node, of all tasks."""
    lines = [
        [
            row["position"],
            row["id"],
            row["namespace"],
            row["name"],
            row.get("queue"),
            row.get("user"),
            _priority(row, wide),
            f"{row['pending']}/{row['replicas']}",
            span(row["waited_s"]),
            starts_in(row, now),
            row["reason"],
            row["message"] or row.get("waits_for") or row["reason"],
        ]
        for row in rows
    ]
    return table(_COLUMNS, lines, wide)


def _priority(row: QueueItem, wide: bool) -> str:
    """The priority, with a mark if waiting has raised it."""
    before = row.get("promoted_from")
    if before is None:
        return row["priority"]
    return f"{row['priority']} (was {before})" if wide else f"{row['priority']} ↑"
