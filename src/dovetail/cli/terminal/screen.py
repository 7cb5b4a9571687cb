"""The terminal itself: its size, styles as escape sequences, one line that changes in place, a screen drawn anew.

Guarantees: styles only on a terminal, and not with NO_COLOR or a dumb terminal. What is not a terminal gets neither
escape sequences nor lines that change. An escape sequence in a value of a user never reaches the terminal.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Text

PIPE_SIZE = (80, 25)  # columns and lines, where there is no terminal
_CODES = {"bold": "1", "dim": "2", "reverse": "7", "red": "31", "green": "32", "yellow": "33", "blue": "34"}
_OTHER_SCREEN, _FIRST_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def screen_size() -> os.terminal_size:
    """Of the terminal, wherever the output goes; COLUMNS and LINES win."""
    columns, lines = PIPE_SIZE
    for stream in (0, 1, 2):
        try:
            columns, lines = os.get_terminal_size(stream)
            break
        except OSError:  # no terminal
            continue
    columns, lines = _variable("COLUMNS") or columns, _variable("LINES") or lines
    return os.terminal_size((columns or PIPE_SIZE[0], lines or PIPE_SIZE[1]))  # some terminals say 0


def terminal_size() -> os.terminal_size:
    """Of the terminal that stdout is, now; COLUMNS and LINES, which do not change with it, do not count."""
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return screen_size()
    return os.terminal_size((columns or PIPE_SIZE[0], lines or PIPE_SIZE[1]))


def _variable(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 0


def shown_on(stream: TextIO, lines: "Sequence[Text]") -> list[str]:
    """The lines as this stream can show them: with styles on a terminal, without blanks at their ends elsewhere."""
    if stream.isatty():
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")
        return [_readable(line.plain) if plain else _painted(line) for line in lines]
    return [_readable(line.plain).rstrip() for line in lines]


def _painted(line: "Text") -> str:
    found = []
    for text, style in line.styled():
        codes = ";".join(_CODES[word] for word in style.split())
        found.append(f"\x1b[{codes}m{_readable(text)}\x1b[0m" if codes else _readable(text))
    return "".join(found)


def _readable(text: str) -> str:
    return (
        text if text.isprintable() else "".join(" " if sign < " " or "\x7f" <= sign < "\xa0" else sign for sign in text)
    )


@contextmanager
def status_line(words: str = "") -> Iterator[Callable[[str], None]]:
    """One line on stderr that says how far something is; the block calls what it gets to change the words."""

    def tell(words: str) -> None:
        if sys.stderr.isatty():
            cut = _readable(words)[: screen_size().columns - 1]
            sys.stderr.write(f"\r{cut}{_REST_OF_LINE}")
            sys.stderr.flush()

    tell(words)
    try:
        yield tell
    finally:
        tell("")


@contextmanager
def whole_screen() -> "Iterator[Callable[[Sequence[Text]], None]]":
    """The terminal for this program alone; the block calls what it gets to draw the next picture."""

    def paint(lines: "Sequence[Text]") -> None:
        fitting = shown_on(sys.stdout, lines[: terminal_size().lines])
        # One write, so that no half of a picture is seen. The rest of a line goes first: after a full line the cursor
        # is still on its last cell, which would be erased.
        sys.stdout.write(_HOME + "\n".join(f"{_REST_OF_LINE}{line}" for line in fitting) + _REST_OF_SCREEN)
        sys.stdout.flush()

    sys.stdout.write(_OTHER_SCREEN)
    try:
        yield paint
    finally:
        sys.stdout.write(_FIRST_SCREEN)
        sys.stdout.flush()
