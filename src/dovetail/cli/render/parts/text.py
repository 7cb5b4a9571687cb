"""What drawings are made of: styled text, stacks of drawings, and trees.

A drawing gives its lines for a width (`Drawing.lines`); `terminal.output` prints them, with or without styles. A style
is words: `bold`, `dim`, `red`, `bold green`. Text is broken between words, and inside a word only where the word alone
is wider than the line. Widths are counted in cells of a terminal: `漢` takes two.

Rich does the same and more, but takes longer to import than most commands run, and half a second for a thousand rows
(`docs/decisions/0009-start-of-commands.md`).
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Protocol, Self

ELLIPSIS = "…"
_WORD = re.compile(r"\s*\S+\s*")


class Drawing(Protocol):
    def lines(self, width: int) -> "list[Text]":
        """What to print, line by line, none wider than `width` cells where that can be helped."""


class Text:
    """Pieces of text, each with a style; `style` applies to all of them."""

    __slots__ = ("no_wrap", "pieces", "style")

    def __init__(self, text: str = "", style: str = "", *, no_wrap: bool = False) -> None:
        self.pieces: list[tuple[str, str]] = [(text, "")] if text else []
        self.style = style
        self.no_wrap = no_wrap  # too long a line is cut

    @classmethod
    def assemble(cls, *parts: "str | tuple[str, str] | Text", no_wrap: bool = False) -> Self:
        found = cls(no_wrap=no_wrap)
        for part in parts:
            if isinstance(part, Text):
                found.append_text(part)
            elif isinstance(part, str):
                found.append(part)
            else:
                found.append(*part)
        return found

    def append(self, text: str, style: str = "") -> Self:
        if text:
            self.pieces.append((text, style))
        return self

    def append_text(self, other: "Text") -> Self:
        self.pieces += other.styled() if other.style else other.pieces
        return self

    def styled(self) -> Iterator[tuple[str, str]]:
        """The pieces with their whole styles; what a piece says for itself comes last and wins."""
        return ((text, f"{self.style} {style}".strip()) for text, style in self.pieces)

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.pieces)

    @property
    def cells(self) -> int:
        return sum([cells(text) for text, _ in self.pieces])

    def __getitem__(self, part: slice) -> "Text":
        start, stop, _ = part.indices(len(self.plain))
        found, offset = Text(style=self.style), 0
        for text, style in self.pieces:
            found.append(text[max(0, start - offset) : max(0, stop - offset)], style)
            offset += len(text)
        return found

    def lines(self, width: int) -> "list[Text]":
        if "\n" not in self.plain:
            return self._fitted(width)
        return [line for whole in self._split() for line in whole._fitted(width)]

    def wrapped(self, width: int) -> "list[Text]":
        """As several lines, none wider than `width`."""
        plain = self.plain
        if cells(plain) <= width:
            return [self]
        edges = [0, *_breaks(plain, width), len(plain)]
        return [self[start:stop].stripped() for start, stop in pairwise(edges)]

    def cut(self, width: int) -> "Text":
        """No wider than `width`; what was cut off leaves an ellipsis."""
        if self.cells <= width:
            return self
        found = self[: _fitting(self.plain, width - 1)]
        return found.append(ELLIPSIS)

    def stripped(self) -> "Text":
        """Without blanks at its end."""
        return self[: len(self.plain.rstrip())]

    def _fitted(self, width: int) -> "list[Text]":
        return [self.cut(width)] if self.no_wrap else self.wrapped(width)

    def _split(self) -> Iterator["Text"]:
        start = 0
        for line in self.plain.split("\n"):
            yield self[start : start + len(line)]
            start += len(line) + 1


class Stack:
    """Drawings below each other."""

    def __init__(self, *parts: Drawing) -> None:
        self.parts = parts

    def lines(self, width: int) -> list[Text]:
        return [line for part in self.parts for line in part.lines(width)]


class Tree:
    """A text, and trees below it, joined by lines."""

    def __init__(self, label: Text) -> None:
        self.label = label
        self.branches: list[Tree] = []

    def add(self, label: Text) -> "Tree":
        found = Tree(label)
        self.branches.append(found)
        return found

    def lines(self, width: int) -> list[Text]:
        return [*self.label.lines(width), *self._below(width, "")]

    def _below(self, width: int, guide: str) -> Iterator[Text]:
        for branch in self.branches:
            last = branch is self.branches[-1]
            first, further = ("└── ", "    ") if last else ("├── ", "│   ")
            for number, line in enumerate(branch.label.lines(max(1, width - cells(guide) - 4))):
                yield Text.assemble((guide + (further if number else first), "dim"), line)
            yield from branch._below(width, guide + further)


# --- widths ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def cells(text: str) -> int:
    """How many cells of a terminal it takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


@lru_cache(maxsize=1024)
def _cells_of(sign: str) -> int:
    from unicodedata import category, east_asian_width

    if category(sign) in ("Mn", "Me", "Cf", "Cc"):  # accents, joiners, controls
        return 0
    return 2 if east_asian_width(sign) in ("W", "F") else 1


def _fitting(text: str, width: int) -> int:
    """How many characters of it take no more than so many cells."""
    taken = 0
    for place, sign in enumerate(text):
        taken += cells(sign)
        if taken > width:
            return place
    return len(text)


def _breaks(text: str, width: int) -> Iterable[int]:
    """Where new lines begin."""
    taken = 0
    for match in _WORD.finditer(text):
        start, word = match.start(), match[0]
        if taken + cells(word.rstrip()) <= width:
            taken += cells(word)
            continue
        if start:
            yield start
        while cells(word.rstrip()) > width:
            size = max(1, _fitting(word, width))
            start, word = start + size, word[size:]
            yield start
        taken = cells(word)
