"""The tree of queues: a bar of use for each, who borrows from whom, and how fair it is between tenants.

A bar is as long as the queue's maximum, or as the cluster where it has none: `█` is held within the guarantee, `▒` is
borrowed, `│` marks where the guarantee ends.
"""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.bars import ACCENT
from dovetail.cli.render.parts.table import Header, count, table
from dovetail.client.amounts import shown
from dovetail.responses.queues import LoanPart, LoanRow, QueueResource, QueueRow, QueuesAnswer, TenantRow

WIDTH = 16
_NAMED = 3
_QUEUES = (
    Header("QUEUE"),
    Header("WEIGHT", right=True),
    Header("SHARE", right=True),
    Header("USE"),
    Header("HELD", shrinks=True),
    Header("WAITING", right=True),
    Header("EVERYTHING ELSE", wide=True),
    Header("A USER AT MOST", wide=True),
)
_TENANTS = (
    Header("TENANT", shrinks=True),
    Header("WEIGHT", right=True),
    Header("SHARE", right=True),
    Header("FROM FAIR", right=True),
)


def queue_tree(answer: QueuesAnswer, wide: bool = False) -> RenderableType:
    rows = answer["queues"]
    waiting = sum(row["waiting"] for row in rows if row["depth"] == 1)
    parts: list[RenderableType] = [Text(f"{count(len(rows), 'queue')}, {count(waiting, 'workload')} waiting")]
    parts.append(table(_QUEUES, [_queue(row) for row in rows], wide))
    if any(row["dominant"] for row in rows):
        parts.append(Text("█ within its guarantee  ▒ borrowed  │ end of its guarantee", style="dim"))
    parts += [Text(f"\n{line}" if not index else line) for index, line in enumerate(map(_loan, answer["loans"]))]
    if answer["tenants"]:
        words = f"\ntenants (by {answer['fair_between']}): what each holds, against its fair part by weight"
        parts += [Text(words, style="dim"), table(_TENANTS, [_tenant(row) for row in answer["tenants"]], wide)]
    return Group(*parts)


def _queue(row: QueueRow) -> list[object]:
    resource = row["dominant"]
    use = None if resource is None else row["resources"][resource]
    most = row["max_workloads"]
    return [
        Text("  " * (row["depth"] - 1) + row["name"]),  # a plain string would lose its indent
        f"{row['weight']:g}",
        f"{row['share']:.0%}",
        Text("-", style="dim") if use is None else use_bar(use),
        "" if use is None or resource is None else held(resource, use),
        row["waiting"] if most is None else f"{row['waiting']} of {most}",
        "; ".join(held(name, other) for name, other in row["resources"].items() if name != resource),
        ", ".join(f"{name} {shown(name, amount)}" for name, amount in row["user_limits"].items()),
    ]


def use_bar(use: QueueResource, width: int = WIDTH) -> Text:
    """Used, guaranteed and borrowed of the most it may hold."""
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


def _loan(loan: LoanRow) -> str:
    """`gpu: ml borrows 12; research/nlp leaves 8 idle, ops 4`."""
    resource = loan["resource"]
    words = f"{resource}: {_parts(resource, loan['borrowers'], 'borrows')}"
    if loan["lenders"]:
        words += f"; {_parts(resource, loan['lenders'], 'lends')}"
    return words


def _parts(resource: str, parts: Sequence[LoanPart], verb: str) -> str:
    named = [f"{part['queue']} {verb} {shown(resource, part['amount'])}" for part in parts[:_NAMED]]
    more = [f"{len(parts) - _NAMED} more"] if len(parts) > _NAMED else []
    return ", ".join(named + more)


def _tenant(row: TenantRow) -> list[object]:
    return [row["tenant"] or "(none)", f"{row['weight']:g}", f"{row['share']:.1%}", f"{row['deviation']:+.0%}"]
