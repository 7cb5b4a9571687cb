"""Text is broken, cut and measured as Rich does it, which is the reference here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text as RichText

from dovetail.cli.render.parts.table import Header, grid
from dovetail.cli.render.parts.text import Stack, Text, Tree, cells
from dovetail.cli.terminal.screen import _painted

_SIGNS = st.sampled_from("ab cd.…█é漢 \n")
_CONSOLE = Console(width=200, markup=False, highlight=False, emoji=False)


@given(st.text(_SIGNS, max_size=60), st.integers(2, 30))
def test_lines_break_where_those_of_rich_do(text: str, width: int) -> None:
    """Except that blanks behind a word that fills its line get no line of their own, as Rich gives them sometimes."""
    for line in text.split("\n"):
        expected = [part.plain.strip() for part in RichText(line).wrap(_CONSOLE, width)]
        found = [part.plain.strip() for part in Text(line).lines(width)]
        assert list(filter(None, found)) == list(filter(None, expected))
    assert len(Text(text).lines(width)) >= text.count("\n") + 1


@given(st.text(_SIGNS, max_size=60).map(lambda text: text.replace("\n", "")), st.integers(2, 30))
def test_a_text_that_is_cut_ends_as_that_of_rich(text: str, width: int) -> None:
    expected = RichText(text)
    expected.truncate(width, overflow="ellipsis")
    found = Text(text).cut(width)
    assert found.plain.rstrip("… ") == expected.plain.rstrip("… ")
    assert found.cells <= width


@given(st.text(max_size=20).filter(str.isprintable))
def test_no_line_is_wider_than_asked(text: str) -> None:
    assert all(line.cells <= 8 for line in Text(text).lines(8))


def test_wide_characters_take_two_cells_and_accents_none() -> None:
    assert (cells("漢字"), cells("e\u0301"), cells("█·")) == (4, 1, 2)


def test_the_style_of_a_text_applies_to_what_is_appended() -> None:
    text = Text("a", "bold").append("b", "red")
    assert _painted(Text.assemble("x", text, ("y", "dim"))) == "x\x1b[1ma\x1b[0m\x1b[1;31mb\x1b[0m\x1b[2my\x1b[0m"
    assert _painted(text[1:]) == "\x1b[1;31mb\x1b[0m"


def test_an_escape_sequence_of_a_user_is_not_one_of_the_terminal() -> None:
    assert _painted(Text("\x1b[31mred\x9b\x07", "bold")) == "\x1b[1m [31mred  \x1b[0m"


def test_a_tree_is_drawn_with_lines() -> None:
    root = Tree(Text("root"))
    root.add(Text("first")).add(Text("below it, long"))
    root.add(Text("last"))
    drawn = [line.plain for line in Stack(root, Text("end")).lines(16)]
    assert drawn == ["root", "├── first", "│   └── below", "│       it, long", "└── last", "end"]


@pytest.mark.parametrize("width", [8, 14, 40])
def test_a_table_is_never_wider_than_asked(width: int) -> None:
    headers = (Header("NAME"), Header("COUNT", right=True), Header("WHY", folds=True), Header("", shrinks=True))
    table = grid(headers, [("one", 1, "several words to fold", "more"), (None, 22, "", "the last cell is long")])
    assert max(line.cells for line in table.lines(width)) <= width
