"""Where output goes: answers to stdout in the format asked for, everything else to stderr.

Guarantees: JSON and YAML are whole and uncoloured; tables fit the terminal; in a pipe, unless COLUMNS is set, and with
`-o wide` each row is one line, as long as it needs to be. How a terminal is painted is left to `screen`.
"""

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.screen import screen_size, shown_on

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Drawing

WIDE_COLUMNS = sys.maxsize


class Format(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_data(self) -> bool:
        """The answer as it is, not drawn."""
        return self in (Format.JSON, Format.YAML)


Output = Annotated[
    Format, Option("--output", "-o", metavar="FORMAT", help="table, wide, json or yaml.", show_default=True)
]


def show(data: Any, output: Format, view: "Callable[[bool], Drawing | str]") -> None:
    """Print data as it is, or as `view(wide)` draws it."""
    if output is Format.JSON:
        import orjson  # json takes thirty times as long to indent

        write(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n")
    elif output is Format.YAML:
        import yaml

        write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=False))
    else:
        draw(view(output is Format.WIDE), wide=output is Format.WIDE)


def draw(view: "Drawing | str", wide: bool = False) -> None:
    lines = _drawn(view).lines(WIDE_COLUMNS if wide else output_columns())
    write("".join(f"{line}\n" for line in shown_on(sys.stdout, lines)))


def output_columns() -> int:
    """How wide a line of stdout may be."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return screen_size().columns
    return WIDE_COLUMNS


def warn(view: "Drawing | str", style: str = "") -> None:
    """Draw it on stderr. Lines may be longer than the terminal, which then breaks them: people copy them from there."""
    say("\n".join(shown_on(sys.stderr, _drawn(view, style).lines(WIDE_COLUMNS))))


def _drawn(view: "Drawing | str", style: str = "") -> "Drawing":
    from dovetail.cli.render.parts.text import Text

    return Text(view, style) if isinstance(view, str) else view


def say(words: str) -> None:
    """Print a note on stderr, beside the answer on stdout."""
    click.echo(words, err=True)


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
