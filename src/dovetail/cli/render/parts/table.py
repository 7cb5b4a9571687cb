"""Tables: no lines, a bold header, numbers to the right.

Guarantees: a table fits its console where that can be, and nothing is cut: what is too long for its column goes on in
the next line. Columns that fold are narrowed first, then those that shrink, then the others; of these the widest first.
If little would be left of a last column that folds, its cells stand below their rows instead. Names in the first column
stay whole: where they are too long, each stands above its row. A column in which no row has anything is left out.
In a `compact` table each row takes one line: such a last column is left out, and if that is not enough, cells are cut
and end in `…`. Who draws one says which command shows the rest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

from dovetail.cli.render.parts.text import Text, cells
from dovetail.model.text.listing import count

GAP = 2
INDENT = 4
LEAST_FOLDED = 24
LEAST_SHRUNK = 12
LEAST = 4
NARROWEST = 1
_NOTHING = ("", "-", "—")  # cells that say nothing

Row = TypeVar("Row")
Better = Callable[[Sequence[float]], float]


class Header:
    """`wide`: only in wide tables. `folds`: sentences and lists, the first to go on in the next line. `shrinks`: names
    that may be long, the next to do so."""

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

    def __init__(
        self, columns: Sequence[Header], rows: Sequence[Sequence[Text]], header: bool, compact: bool = False
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.header = header
        self.compact = compact
        self._drawn_before = 0

    def below(self, drawn_before: int) -> Self:
        """Only the rows after so many that were drawn before, in columns that suit all of them; without a header."""
        self.header, self._drawn_before = False, drawn_before
        return self

    def lines(self, width: int) -> list[Text]:
        if self._leaves_little(width):
            return self._without_last().lines(width) if self.compact else self._with_last_below(width)
        widths, natural = self.widths(width), self._natural()
        if widths[0] < natural[0] and self._names_rows():
            return self._with_first_above(width)
        folds = widths != natural and not self.compact
        found = self._header(widths) if self.header else []
        for row in self.rows[self._drawn_before :]:
            found += self._folded(row, widths) if folds else [self._joined(row, widths)]
        return _within(found, widths, width, width)

    def _leaves_little(self, width: int) -> bool:
        """Whether the last column folds, and the others leave too little for it."""
        if len(self.columns) < 3 or not self.columns[-1].folds:
            return False
        *others, last = self._natural()
        return width - sum(others) - GAP * len(others) < min(last, LEAST_FOLDED)

    def _without_last(self) -> "Listing":
        return Listing(self.columns[:-1], [row[:-1] for row in self.rows], self.header, self.compact)

    def _with_last_below(self, width: int) -> list[Text]:
        rest = self._without_last()
        widths = rest.widths(width)
        found = rest._header(widths) if self.header else []
        for row in self.rows[self._drawn_before :]:
            found += rest._folded(row[:-1], widths)
            if row[-1].plain not in _NOTHING:
                found += [Text.assemble(" " * INDENT, line) for line in row[-1].wrapped(max(1, width - INDENT))]
        return found

    def _names_rows(self) -> bool:
        return not self.compact and len(self.columns) > 2 and not self.columns[0].folds

    def _with_first_above(self, width: int) -> list[Text]:
        rest = Listing(self.columns[1:], [row[1:] for row in self.rows], self.header)
        inner = max(1, width - INDENT)
        widths = rest.widths(inner)
        found = [Text(self.columns[0].title, "bold")] if self.header else []
        found += [Text.assemble(" " * INDENT, line) for line in (rest._header(widths) if self.header else [])]
        for row in self.rows[self._drawn_before :]:
            found += row[0].wrapped(width)
            found += [Text.assemble(" " * INDENT, line) for line in rest._folded(row[1:], widths)]
        return _within(found, widths, inner, width)

    def _header(self, widths: Sequence[int]) -> list[Text]:
        """Titles of several lines end on the last one."""
        titles = [
            [line.plain for line in Text(column.title, no_wrap=self.compact).lines(width)]
            for column, width in zip(self.columns, widths, strict=True)
        ]
        height = max(map(len, titles))
        padded = [[""] * (height - len(title)) + title for title in titles]
        rows = [[Text(title[number], "bold") for title in padded] for number in range(height)]
        return [self._joined(row, widths) for row in rows]

    def _folded(self, row: Sequence[Text], widths: Sequence[int]) -> list[Text]:
        """One line, or several where a cell is wider than its column."""
        cells_of = [cell.wrapped(width) for cell, width in zip(row, widths, strict=True)]
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

    def _natural(self) -> list[int]:
        return [
            max([_width(column.title), *(row[place].cells for row in self.rows)])
            for place, column in enumerate(self.columns)
        ]

    def widths(self, most: int) -> list[int]:
        natural = self._natural()
        folding = [column.folds for column in self.columns]
        yielding = [column.shrinks or column.folds for column in self.columns]
        everything = [True] * len(natural)
        excess = sum(natural) + GAP * (len(natural) - 1) - most
        steps = ((LEAST_FOLDED, folding), (LEAST_SHRUNK, yielding), (LEAST_SHRUNK, everything))
        for least, may_shrink in (*steps, (LEAST, everything), (NARROWEST, everything)):
            while excess > 0:
                able = [place for place, may in enumerate(may_shrink) if may and natural[place] > least]
                if not able:
                    break
                widest = max(able, key=lambda place: natural[place])
                natural[widest] -= 1
                excess -= 1
        return natural


def _within(lines: list[Text], widths: Sequence[int], room: int, most: int) -> list[Text]:
    """Cut to the console's width if the narrowest columns are still too wide for it."""
    too_wide = sum(widths) + GAP * (len(widths) - 1) > room
    return [line.cut(most) for line in lines] if too_wide else lines


def table(
    columns: Iterable[TableColumn[Row]], rows: Iterable[Row], wide: bool = False, compact: bool = False
) -> Listing:
    """`compact`: each row takes one line, whatever has to be cut for that."""
    shown = [column for column in columns if wide or not column.wide]
    return grid(shown, ([column.cell(row) for column in shown] for row in rows), compact)


def grid(headers: Sequence[Header], rows: Iterable[Sequence[object]], compact: bool = False) -> Listing:
    """A table of rows that have a value for every header. Columns with a title and no value are left out."""
    drawn = [[_text(value) for value in row] for row in rows]
    kept = [
        place
        for place, header in enumerate(headers)
        if not place or not header.title or not drawn or any(row[place].plain not in _NOTHING for row in drawn)
    ]
    titles = [headers[place] for place in kept]
    has_titles = any(header.title for header in titles)
    return Listing(titles, [[row[place] for place in kept] for row in drawn], has_titles, compact)


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
