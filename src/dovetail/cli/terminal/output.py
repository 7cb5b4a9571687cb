"""Where output goes: answers to stdout in the format asked for, everything else to stderr.

Guarantees: JSON and YAML are whole and uncoloured; tables fit the terminal, or 80 columns in a pipe; wide tables are as
wide as they need to be. Colours only on a terminal and without NO_COLOR.
"""

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli.terminal.failure import broken_pipe
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDE_COLUMNS = 2000  # more than any table needs; Rich wants a number


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


def show(data: Any, output: Format, view: Callable[[bool], "RenderableType"]) -> None:
    """Print data as it is, or as `view(wide)` draws it."""
    if output is Format.JSON:
        import json

        write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    elif output is Format.YAML:
        import yaml

        write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=False))
    else:
        draw(view(output is Format.WIDE), wide=output is Format.WIDE)


def draw(view: "RenderableType", wide: bool = False) -> None:
    console = stdout(wide)
    if console.is_terminal:
        console.print(view)
        return
    with console.capture() as drawn:
        console.print(view)
    # Tables are padded to their width, which only disturbs the reader of a pipe.
    write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


def stdout(wide: bool = False) -> "Console":
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            broken_pipe()

    console = Quiet(highlight=False, markup=False, emoji=False)
    if wide:
        console.width = WIDE_COLUMNS
    return console


def stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def say(words: str) -> None:
    """Print a note on stderr, beside the answer on stdout."""
    click.echo(words, err=True)


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
