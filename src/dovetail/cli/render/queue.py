"""What waits, in order."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.spans import span
from dovetail.cli.render.table import Column, Listing, count, table
from dovetail.client.types import QueueItem

_COLUMNS = (
    Column("#", right=True),
    Column("ID", right=True, wide=True),
    Column("NAMESPACE", wide=True),
    Column("NAME"),
    Column("PRIORITY"),
    Column("WAITING", right=True),
    Column("FOR", right=True),
    Column("REASON", wide=True),
    Column("WHY", shrinks=True),
)


def queue_list(rows: Sequence[QueueItem], wide: bool = False) -> RenderableType:
    if not rows:
        return Text("nothing waits")
    tasks = sum(row["pending"] for row in rows)
    longest = max(row["waited_s"] for row in rows)
    head = f"{count(len(rows), 'workload')} with {count(tasks, 'task')} waiting, the longest for {span(longest)}"
    return Group(Text(head), queue_table(rows, wide))


def queue_table(rows: Sequence[QueueItem], wide: bool = False) -> Listing:
    """WAITING counts the tasks without a place, of all tasks."""
    lines = [
        [
            row["position"],
            row["id"],
            row["namespace"],
            row["name"],
            row["priority"],
            f"{row['pending']}/{row['replicas']}",
            span(row["waited_s"]),
            row["reason"],
            row["message"] or row["reason"],
        ]
        for row in rows
    ]
    return table(_COLUMNS, lines, wide)
