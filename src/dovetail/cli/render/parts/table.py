"""Tables: no lines, a bold header, numbers to the right.

Guarantees: a table is never wider than its console. Columns that shrink give way first, and only when little is left
of them do the others, the widest first. Cells that are cut end in `…`; wide tables cut nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2
LEAST_SHRUNK = 12
LEAST = 4


@dataclass(frozen=True, slots=True)
class Header:
    title: str = ""
    right: bool = False
    wide: bool = False  # only in wide tables
    shrinks: bool = False
    folds: bool = False  # shrinks too, but onto further lines instead of being cut


class Listing:
    """A table whose columns are fitted to the console it is printed on."""

    def __init__(self, columns: Sequence[Header], rows: Sequence[Sequence[Text]], header: bool) -> None:
        self.columns = columns
        self.rows = rows
        self.header = header

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        found = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", show_header=self.header)
        folding = any(column.folds for column in self.columns)
        for column, width in zip(self.columns, self.widths(options.max_width), strict=True):
            found.add_column(
                column.title,
                justify="right" if column.right else "left",
                vertical="top" if folding else "bottom",  # the latter is for headers of several lines
                width=width,
                no_wrap=not column.folds,
                overflow="fold" if column.folds else "ellipsis",
            )
        for row in self.rows:
            found.add_row(*row)
        yield found

    def widths(self, most: int) -> list[int]:
        natural = [
            max([_width(column.title), *(row[place].cell_len for row in self.rows)])
            for place, column in enumerate(self.columns)
        ]
        yielding = [column.shrinks or column.folds for column in self.columns]
        excess = sum(natural) + GAP * (len(natural) - 1) - most
        for least, may_shrink in ((LEAST_SHRUNK, yielding), (LEAST, yielding), (LEAST, [True] * len(natural))):
            while excess > 0:
                able = [place for place, may in enumerate(may_shrink) if may and natural[place] > least]
                if not able:
                    break
                widest = max(able, key=lambda place: natural[place])
                natural[widest] -= 1
                excess -= 1
        return natural


def table(columns: Sequence[Header], rows: Iterable[Sequence[object]], wide: bool = False) -> Listing:
    """Every row has a cell for every column, also for those that are shown only when wide."""
    shown = [index for index, column in enumerate(columns) if wide or not column.wide]
    cells = [[_text(row[index]) for index in shown] for row in rows]
    return Listing([columns[index] for index in shown], cells, header=any(columns[index].title for index in shown))


def pairs(lines: Iterable[tuple[str, object]]) -> Listing:
    """`name  value` lines; values may take several lines, empty ones are left out."""
    kept = [(Text(name, style="dim"), value) for name, value in lines if value not in (None, "")]
    return table((Header(), Header(folds=True)), kept)


def _text(cell: Any) -> Text:
    if isinstance(cell, Text):
        return cell
    return Text("-" if cell is None else " ".join(str(cell).split()))  # one line, whatever was sent


def _width(title: str) -> int:
    return max(len(line) for line in title.split("\n"))


def count(number: int, word: str, plural: str = "") -> str:
    """`1 node`, `3 nodes`, `2 queries`."""
    return f"{number} {word}" if number == 1 else f"{number} {plural or word + 's'}"
