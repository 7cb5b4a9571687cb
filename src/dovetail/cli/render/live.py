"""The live screen of `top`: a header with use and its trend, the tabs of the views, rows, and a line of keys.

A frame has exactly as many lines as the screen, and none is longer. The selected row has a sign as well as a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from dovetail.cli.render.decision import explain_view
from dovetail.cli.render.live_rows import LiveColumn, Row, identity, in_words, live_columns
from dovetail.cli.render.nodes import one_node
from dovetail.cli.render.parts.bars import bar, sparkline
from dovetail.cli.render.parts.state import tally
from dovetail.cli.render.parts.table import pairs, table
from dovetail.cli.render.parts.text import Drawing, Text
from dovetail.cli.render.parts.times import span
from dovetail.client.amounts import shown
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.system import ClusterSummary

_RESOURCES = ("gpu", "cpu", "memory")
_BAR = 20
_TREND = 24
_WIDE_COLUMNS = 120
_MARK, _NO_MARK = "▸ ", "  "
_TABS = {"workloads": "w", "pending": "p", "queues": "u", "nodes": "n"}
#: What the help says: keys, and what they do. `top.state` does it.
LIST_KEYS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("up", "down", "j", "k"), "move; page up, page down, home and end jump"),
    (("enter",), "open: why a workload runs there or waits, what a node has, the work of a queue"),
    (("/",), "filter by words: name, state, user …; state:failed and queue:ml look at one value"),
    (("s", "<", ">"), "sort by the next or the previous column; r reverses"),
    (("w", "p", "u", "n"), "workloads, pending work and why it waits, queues, nodes; tab goes on"),
    (("a",), "finished workloads, too"),
    (("?",), "this help"),
    (("q",), "back, and at last out; Escape clears a filter first"),
)
_SHOWN_KEYS = {"up": "↑", "down": "↓", "enter": "Enter"}


@dataclass(frozen=True, slots=True)
class Live:
    """What is known of the cluster. `asked`: the view, whether finished work is wanted, what is opened; the rows and
    the detail belong to that. `total` -1: there are more rows than these."""

    summary: ClusterSummary
    asked: tuple[str, bool, tuple[str, Any] | None]
    rows: Sequence[Row] = ()
    total: int = 0
    detail: Any = None
    use: Sequence[float] = ()
    waiting: Sequence[float] = ()
    decisions_per_s: float | None = None
    at: float = 0.0
    trouble: str = ""
    lost_at: float | None = None

    def in_trouble(self, trouble: str, now: float) -> Live:
        """The same, as it was last."""
        return replace(self, trouble=trouble, lost_at=now if self.lost_at is None else self.lost_at)


class LiveScreen(Protocol):
    """What the user chose (`top.state`). Drawing tells it how many rows fit, and how far there is to scroll."""

    view: str
    mode: str
    filter: str
    typed: str
    selected: Any
    scroll: int
    page: int
    opened: tuple[str, Any] | None
    reversed: set[str]

    def column(self) -> LiveColumn: ...


def live_lines(
    live: Live, screen: LiveScreen, rows: Sequence[Row], size: tuple[int, int], url: str, now: float
) -> list[Text]:
    """`rows`: what the screen shows of them, in order."""
    columns, lines = size
    body = _header(live, columns, url, now)
    room = max(1, lines - len(body) - 1)
    if screen.mode == "help":
        body += _scrolled(_help(), columns, room, screen)
    elif screen.mode == "detail":
        body += _scrolled(_detail(live, screen, now, columns >= _WIDE_COLUMNS), columns, room, screen)
    else:
        body += [_tabs(live, screen, rows, columns), *_listed(live, screen, rows, columns, room - 1, now)]
    body = [line.cut(columns) for line in body[: lines - 1]]
    body += [Text()] * (lines - 1 - len(body))
    return [*body, _foot(screen).cut(columns - 1)][:lines]


# --- header ------------------------------------------------------------------------------------------------------


def _header(live: Live, columns: int, url: str, now: float) -> list[Text]:
    summary = live.summary
    counts = summary["nodes"]
    statuses = {name: counts[name] for name in ("online", "cordoned", "quarantined", "offline")}
    statuses["backend down"] = counts["backend_down"]
    first = Text.assemble((f"{count(counts['total'], 'node')}: {tally(statuses) or 'none online'}", "bold"))
    if live.trouble:
        lost = span(now - live.lost_at) if live.lost_at is not None else "0s"
        right = Text(f"connection lost {lost} ago, trying again", style="bold red")
    else:
        right = Text.assemble(("● ", "green"), (f"live  {url}  up {span(summary['uptime_s'])}", "dim"))
    lines = [_both_ends(first, right, columns)]
    for name in _RESOURCES:
        use = summary["resources"].get(name)
        if use is None or not use["capacity"]:
            continue
        line = Text.assemble(name.ljust(7), bar(use["share"], _BAR, track=True), f" {use['share']:4.0%}  ")
        if len(lines) == 1 and columns >= 72:
            line.append(sparkline(live.use, _TREND, most=1.0).rjust(_TREND), style="blue").append("  ")
        line.append(f"{shown(name, use['allocated'])} of {shown(name, use['capacity'])}", style="dim")
        lines.append(line)
    states = summary["workloads"]
    if columns < _WIDE_COLUMNS:
        states = {state: number for state, number in states.items() if state not in ("succeeded", "cancelled")}
    work = Text(f"workloads: {tally(states) or 'none'}; {summary['waiting']:,} waiting ")
    work.append(sparkline(live.waiting, 12), style="yellow")
    if live.decisions_per_s is not None:
        decided = Text(f"  {live.decisions_per_s:,.1f} decisions/s", style="dim")
        work.append_text(decided if work.cells + decided.cells <= columns else Text())
    return [*lines, work]


def _both_ends(left: Text, right: Text, columns: int) -> Text:
    space = columns - left.cells - right.cells
    return Text.assemble(left, " " * space, right) if space >= 2 else Text.assemble(right, "  ", left)


def _tabs(live: Live, screen: LiveScreen, rows: Sequence[Row], columns: int) -> Text:
    line = Text()
    for name, key in _TABS.items():
        style = "bold reverse" if name == screen.view else "dim"
        line.append(f">{key} {name}<" if name == screen.view else f" {key} {name} ", style).append(" ")
    words = _how_many(live, screen, rows)
    if screen.filter and screen.mode != "typing":
        words += f"; filter: {screen.filter}"
    return (
        _both_ends(line, Text(words, "dim"), columns) if line.cells + len(words) + 2 <= columns else line.append(words)
    )


def _how_many(live: Live, screen: LiveScreen, rows: Sequence[Row]) -> str:
    if live.asked[0] != screen.view:
        return "asking …"
    all_of = "" if live.total >= 0 else "the newest "
    total = len(live.rows)
    if len(rows) < total:
        return f"{len(rows):,} of {all_of}{total:,}"
    return f"{all_of}{total:,}" if total >= live.total else f"the first {total:,} of {live.total:,}"


# --- body --------------------------------------------------------------------------------------------------------


def _listed(live: Live, screen: LiveScreen, rows: Sequence[Row], columns: int, room: int, now: float) -> list[Text]:
    if live.asked[0] != screen.view:
        return []
    if not rows:
        return [Text(_nothing(live, screen), style="dim")]
    places = {identity(screen.view, row): place for place, row in enumerate(rows)}
    chosen = places.get(screen.selected, 0)
    page = max(1, room - 2)  # below the titles, above what the selected row says
    screen.page = page
    first = min(max(0, chosen - page // 2), max(0, len(rows) - page))
    heads = live_columns(screen.view, rows, now, screen.column(), screen.view in screen.reversed)
    wide = columns >= _WIDE_COLUMNS
    # Widths are those of all rows, so that nothing jumps when the list scrolls.
    drawn = table(heads, rows, wide, compact=True).lines(columns - len(_MARK))
    found = [Text.assemble(_NO_MARK, drawn[0])]
    for place, line in enumerate(drawn[1:][first : first + page], start=first):
        if place == chosen:
            found.append(Text(f"{_MARK}{line.plain}".ljust(columns - 1), style="reverse"))
        else:
            found.append(Text.assemble(_NO_MARK, line))
    found += [Text()] * (room - 1 - len(found))
    return [*found, Text(f"{_NO_MARK}{in_words(screen.view, rows[chosen])}", style="yellow")][:room]


def _nothing(live: Live, screen: LiveScreen) -> str:
    if live.rows:
        return "nothing matches the filter; Escape clears it"
    return _EMPTY[screen.view]


_EMPTY = {
    "workloads": "no workloads; submit one: dovetail submit --name hello -- echo hi",
    "pending": "nothing waits",
    "queues": "no queues",
    "nodes": "no nodes; register one (dovetail nodes register -f FILE) or configure a backend",
}


def _detail(live: Live, screen: LiveScreen, now: float, wide: bool) -> Any:
    if live.asked[2] != screen.opened or live.detail is None:
        return Text("asking …", style="dim")
    if "gone" in live.detail:
        return Text(live.detail["gone"], style="yellow")
    if live.asked[2] is not None and live.asked[2][0] == "node":
        return one_node(live.detail["words"], live.detail["tasks"], now)
    return explain_view(live.detail, now, wide)


def _scrolled(drawing: Any, columns: int, room: int, screen: LiveScreen) -> list[Text]:
    lines: list[Text] = drawing.lines(columns - 1)
    screen.page = max(1, room - 2)
    screen.scroll = min(screen.scroll, max(0, len(lines) - screen.page))
    shown_lines = lines[screen.scroll : screen.scroll + screen.page]
    left = len(lines) - screen.scroll - len(shown_lines)
    more = Text(f"{left} more lines below; ↓ shows them", style="dim") if left else Text()
    return [Text(), *shown_lines, more]


def _help() -> Drawing:
    return pairs([(", ".join(_SHOWN_KEYS.get(key, key) for key in keys), words) for keys, words in LIST_KEYS])


def _foot(screen: LiveScreen) -> Text:
    if screen.mode == "typing":
        return Text.assemble(("filter: ", "bold"), f"{screen.typed}█  ", ("Enter keeps it, Escape leaves it", "dim"))
    if screen.mode in ("detail", "help"):
        return Text("q back  ↑↓ scroll", style="dim")
    return Text("? help  / filter  s sort  Enter open  tab view  q quit", style="dim")
