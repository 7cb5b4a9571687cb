"""The pending queue; and the tree of queues: a bar of use for each, who borrows from whom, how fair it is to tenants.

A bar is as long as the queue's maximum, or as the cluster where it has none: `█` is held within the guarantee, `▒` is
borrowed, `│` marks where the guarantee ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.bars import ACCENT
from dovetail.cli.render.parts.names import name_of, plain_name
from dovetail.cli.render.parts.table import Listing, TableColumn, and_more, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span, starts_in
from dovetail.client.amounts import shown
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.queues import LoanPart, LoanRow, QueueItem, QueueResource, QueueRow, QueuesAnswer, TenantRow

WIDTH = 16
_NAMED = 3
_TENANTS: list[TableColumn[TenantRow]] = [
    TableColumn("TENANT", lambda row: row["tenant"] or "(none)", shrinks=True),
    TableColumn("WEIGHT", lambda row: f"{row['weight']:g}", right=True),
    TableColumn("SHARE", lambda row: f"{row['share']:.1%}", right=True),
    TableColumn("FROM FAIR", lambda row: f"{row['deviation']:+.0%}", right=True),
]


def queue_list(rows: Sequence[QueueItem], now: float, wide: bool = False, total: int | None = None) -> Drawing:
    """`total`: how many wait in all, where these are only the first."""
    if not rows:
        return Text("nothing waits")
    left = max(0, (total or 0) - len(rows))
    tasks = sum(row["pending"] for row in rows)
    longest = max(row["waited_s"] for row in rows)
    which = (
        f"the first {len(rows):,} of {count(len(rows) + left, 'workload')}" if left else count(len(rows), "workload")
    )
    head = f"{which} with {count(tasks, 'task')} waiting, the longest for {span(longest)}"
    return Stack(Text(head), queue_table(rows, now, wide), *and_more(left, "workload", f"--limit {len(rows) + left}"))


def queue_table(rows: Sequence[QueueItem], now: float, wide: bool = False, compact: bool = False) -> Listing:
    """TASKS counts tasks without a node, of all tasks."""
    columns: list[TableColumn[QueueItem]] = [
        TableColumn("#", lambda row: row["position"], right=True),
        TableColumn("ID", lambda row: row["id"], right=True, wide=True),
        TableColumn("NAMESPACE", lambda row: row["namespace"], wide=True),
        TableColumn("NAME", plain_name if wide else name_of(rows)),
        TableColumn("QUEUE", lambda row: row.get("queue"), wide=True),
        TableColumn("USER", lambda row: row.get("user"), wide=True),
        TableColumn("PRIORITY", lambda row: _priority(row, wide)),
        TableColumn("TASKS", lambda row: f"{row['pending']}/{row['replicas']}", right=True),
        TableColumn("WAITED", lambda row: span(row["waited_s"]), right=True),
        TableColumn("STARTS", lambda row: starts_in(row, now)),
        TableColumn("REASON", lambda row: row["reason"], wide=True),
        TableColumn("WHY", lambda row: row["message"] or row.get("waits_for") or row["reason"], folds=True),
    ]
    return table(columns, rows, wide, compact)


def _priority(row: QueueItem, wide: bool) -> str:
    """The priority, with a mark if waiting has raised it."""
    before = row.get("promoted_from")
    if before is None:
        return row["priority"]
    return f"{row['priority']} (was {before})" if wide else f"{row['priority']} ↑"


# --- the tree ----------------------------------------------------------------------------------------------------


def queue_tree(answer: QueuesAnswer, wide: bool = False) -> Drawing:
    rows = answer["queues"]
    waiting = sum(row["waiting"] for row in rows if row["depth"] == 1)
    parts: list[Drawing] = [Text(f"{count(len(rows), 'queue')}, {count(waiting, 'workload')} waiting")]
    columns: list[TableColumn[QueueRow]] = [
        TableColumn(
            "QUEUE", lambda row: Text("  " * (row["depth"] - 1) + row["name"])
        ),  # a string would lose its indent
        TableColumn("WEIGHT", lambda row: f"{row['weight']:g}", right=True),
        TableColumn("SHARE", lambda row: f"{row['share']:.0%}", right=True),
        TableColumn("USE", lambda row: use_bar(row["resources"].get(row["dominant"] or ""))),
        TableColumn("WAITING", _waiting, right=True),
        TableColumn("HELD", lambda row: queue_held(row), folds=True),
        TableColumn("EVERYTHING ELSE", lambda row: queue_held(row, dominant=False), wide=True),
        TableColumn("A USER AT MOST", lambda row: _amounts(row["user_limits"]), wide=True),
    ]
    parts.append(table(columns, rows, wide))
    if any(row["dominant"] for row in rows):
        parts.append(Text("█ within its guarantee  ▒ borrowed  │ end of its guarantee", style="dim"))
    loans = [_loan(loan, wide) for loan in answer["loans"]]
    parts += [Text(f"\n{line}" if not index else line) for index, line in enumerate(loans)]
    if answer["tenants"]:
        words = f"\ntenants (by {answer['fair_between']}): what each holds, against its fair part by weight"
        parts += [Text(words, style="dim"), table(_TENANTS, answer["tenants"], wide)]
    return Stack(*parts)


def queue_held(row: QueueRow, dominant: bool = True) -> str:
    """What it holds of its dominant resource, or of all others."""
    uses = row["resources"].items()
    return "; ".join(held(name, use) for name, use in uses if (name == row["dominant"]) is dominant)


def _waiting(row: QueueRow) -> str:
    most = row["max_workloads"]
    return f"{row['waiting']}" if most is None else f"{row['waiting']} of {most}"


def _amounts(amounts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {shown(name, amount)}" for name, amount in amounts.items())


def use_bar(use: QueueResource | None, width: int = WIDTH) -> Text:
    """Used, guaranteed and borrowed of the most it may hold; a dash where it holds nothing."""
    if use is None:
        return Text("-", style="dim")
    maximum = use["maximum"]
    whole = max(maximum if maximum is not None else use["cluster"], use["used"], use["guaranteed"])
    if not whole:
        return Text("·" * width, style="dim")
    borrowed = _cells(use["borrowed"], whole, width)
    own = min(_cells(use["used"] - use["borrowed"], whole, width), width - borrowed)
    found = Text("█" * own, style=ACCENT)
    found.append("▒" * borrowed, style="yellow")
    found.append("·" * (width - own - borrowed), style="dim")
    end = round(use["guaranteed"] / whole * width)
    if use["guaranteed"] and own + borrowed <= end < width:
        found = Text.assemble(found[:end], "│", found[end + 1 :])
    return found


def _cells(amount: float, whole: float, width: int) -> int:
    """How many cells of a bar; any amount above 0 gets at least one."""
    return max(1, round(amount / whole * width)) if amount > 0 else 0


def held(resource: str, use: QueueResource) -> str:
    """`gpu 12 of 8, max 16`: in use, guaranteed, at most."""
    words = f"{resource} {shown(resource, use['used'])}"
    if use["guaranteed"]:
        words += f" of {shown(resource, use['guaranteed'])}"
    return words if use["maximum"] is None else f"{words}, max {shown(resource, use['maximum'])}"


def _loan(loan: LoanRow, wide: bool) -> str:
    """`gpu: ml borrows 12; research/nlp leaves 8 idle, ops 4`."""
    resource = loan["resource"]
    words = f"{resource}: {_parts(resource, loan['borrowers'], 'borrows', wide)}"
    if loan["lenders"]:
        words += f"; {_parts(resource, loan['lenders'], 'lends', wide)}"
    return words


def _parts(resource: str, parts: Sequence[LoanPart], verb: str, wide: bool) -> str:
    named = [f"{part['queue']} {verb} {shown(resource, part['amount'])}" for part in parts[: None if wide else _NAMED]]
    more = [f"{len(parts) - len(named)} more (-o wide)"] if len(parts) > len(named) else []
    return ", ".join(named + more)
