"""Tables: no lines, a bold header, numbers to the right.

Guarantees: a table is never wider than its console. Columns that shrink are narrowed first, and only when little is
left of them are the others, the widest first. Cells that are cut end in `…`; wide tables cut nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dovetail.cli.render.parts.text import Text, cells
from dovetail.model.text.listing import count

GAP = 2
LEAST_SHRUNK = 12
LEAST = 4

Row = TypeVar("Row")
Better = Callable[[Sequence[float]], float]


class Header:
    """`wide`: only in wide tables. `folds`: shrinks too, but onto further lines instead of being cut."""

    def __init__(
        self, title: str = "", *, right: bool = False, wide: bool = False, shrinks: bool = False, folds: bool = False
    ) -> None:
        self.title = title
        self.right = right
        self.wide = wide
        self.shrinks = shrinks
        self.folds = folds


class TableColumn(Header, Generic[Row]):
    """A header, and what each row shows below it."""

    def __init__(self, title: str, cell: Callable[[Row], object], **how: bool) -> None:
        super().__init__(title, **how)
        self.cell = cell


class Listing:
    """A table whose columns are fitted to the console it is printed on."""

    def __init__(self, columns: Sequence[Header], rows: Sequence[Sequence[Text]], header: bool) -> None:
        self.columns = columns
        self.rows = rows
        self.header = header
        self._folds = any(column.folds for column in columns)

    def lines(self, width: int) -> list[Text]:
        widths = self.widths(width)
        found = self._header(widths) if self.header else []
        for row in self.rows:
            found += self._line(row, widths)
        too_wide = sum(widths) + GAP * (len(widths) - 1) > width
        return [line.cut(width) for line in found] if too_wide else found

    def _header(self, widths: Sequence[int]) -> list[Text]:
        """Titles of several lines end on the last one."""
        titles = [
            [line.plain for line in Text(column.title, no_wrap=not column.folds).lines(width)]
            for column, width in zip(self.columns, widths, strict=True)
        ]
        height = max(map(len, titles))
        padded = [[""] * (height - len(title)) + title for title in titles]
        rows = [[Text(title[number], "bold") for title in padded] for number in range(height)]
        return [self._joined(row, widths) for row in rows]

    def _line(self, row: Sequence[Text], widths: Sequence[int]) -> list[Text]:
        """One line, or several where a cell is folded."""
        if not self._folds:
            return [self._joined(row, widths)]
        cells_of = [
            cell.wrapped(width) if column.folds else [cell]
            for cell, column, width in zip(row, self.columns, widths, strict=True)
        ]
        nothing = Text()
        return [
            self._joined([lines[number] if number < len(lines) else nothing for lines in cells_of], widths)
            for number in range(max(map(len, cells_of)))
        ]

    def _joined(self, row: Sequence[Text], widths: Sequence[int]) -> Text:
        """The cells of one line, each as wide as its column; nothing follows the last."""
        line, blanks = Text(), 0
        for cell, column, width in zip(row, self.columns, widths, strict=True):
            taken = cell.cells
            if taken > width:
                cell, taken = cell.cut(width), width
            space = width - taken
            if column.right:
                blanks += space
            if taken:
                line.append(" " * blanks).append_text(cell)
                blanks = 0
            blanks += GAP if column.right else space + GAP
        return line

    def widths(self, most: int) -> list[int]:
        natural = [
            max([_width(column.title), *(row[place].cells for row in self.rows)])
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


def table(columns: Iterable[TableColumn[Row]], rows: Iterable[Row], wide: bool = False) -> Listing:
    shown = [column for column in columns if wide or not column.wide]
    return grid(shown, ([column.cell(row) for column in shown] for row in rows))


def grid(headers: Sequence[Header], rows: Iterable[Sequence[object]]) -> Listing:
    """A table of rows that have a value for every header."""
    cells = [[_text(value) for value in row] for row in rows]
    return Listing(headers, cells, header=any(header.title for header in headers))


def pairs(lines: Iterable[tuple[str, object]], width: int = 0) -> Listing:
    """`name  value` lines; values may take several lines, empty ones are left out. `width`: the least of the names."""
    kept = [(Text(name.ljust(width), style="dim"), value) for name, value in lines if value not in (None, "")]
    return grid((Header(), Header(folds=True)), kept)


def and_more(number: int, word: str, option: str = "-o wide", plural: str = "") -> list[Text]:
    """`and 12 more nodes; -o wide lists them`: whatever is cut says how to get the rest."""
    if number <= 0:
        return []
    words = count(number, f"more {word}", f"more {plural}" if plural else "")
    return [Text(f"and {words}; {option} lists them", style="dim")]


def marked(values: Sequence[float | None], shown: Callable[[float], str], better: Better | None = min) -> list[Text]:
    """The best value stands out, unless all look the same or none is better."""
    known = [value for value in values if value is not None]
    best = better(known) if better is not None and len(set(map(shown, known))) > 1 else None
    return [
        Text("-", style="dim") if value is None else Text(shown(value), style="bold green" if value == best else "")
        for value in values
    ]


def joined(values: Mapping[str, object], sign: str) -> str:
    """`zone=a, disk=nvme`."""
    return ", ".join(f"{name}{sign}{value}" for name, value in values.items())


def _text(cell: Any) -> Text:
    if isinstance(cell, Text):
        return cell
    return Text("-" if cell is None else " ".join(str(cell).split()))  # one line, whatever was sent


def _width(title: str) -> int:
    return max(cells(line) for line in title.split("\n"))
