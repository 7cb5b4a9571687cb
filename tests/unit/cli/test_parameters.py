"""What a signature says, as the command line reads it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner

from dovetail.cli.terminal.commands import CommandGroup, command_of
from dovetail.cli.terminal.parameters import Argument, Option


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def taken(*words: str) -> dict[str, Any]:
    """What a command with one parameter of each kind gets."""
    found: dict[str, Any] = {}

    def command(
        name: Annotated[str, Argument(metavar="NAME", help="Its name.", callback=str.upper)],
        others: Annotated[list[str] | None, Argument(help="More.")] = None,
        dry_run: Annotated[bool, Option(help="Do nothing.")] = False,
        shown: Annotated[bool | None, Option("--shown/--hidden", help="Show it.")] = None,
        colour: Annotated[Colour, Option("--colour", "-c", help="Its colour.")] = Colour.RED,
        level: Annotated[Literal["low", "high"], Option(help="How much.")] = "low",
        number: Annotated[int, Option(min=1, max=9, help="How many.")] = 3,
        share: Annotated[float | None, Option(min=0, help="Which part.")] = None,
        path: Annotated[Path | None, Option(help="Where.")] = None,
        label: Annotated[list[str], Option(help="Labels.")] = [],  # noqa: B006
    ) -> None:
        """Does something."""
        found.update(locals())

    done = CliRunner().invoke(command_of(command, "command"), list(words))
    assert done.exit_code == 0, done.output
    return {name: value for name, value in found.items() if name != "found"} or {"printed": done.output}


def test_what_is_not_given_has_its_default() -> None:
    assert taken("a") == {
        "name": "A",
        "others": None,
        "dry_run": False,
        "shown": None,
        "colour": Colour.RED,
        "level": "low",
        "number": 3,
        "share": None,
        "path": None,
        "label": [],
    }


def test_what_is_given_has_its_type() -> None:
    words = ["a", "b", "c", "--dry-run", "--hidden", "-c", "blue", "--level", "high", "--number", "9"]
    assert taken(*words, "--share", "0.5", "--path", "x/y", "--label", "k", "--label", "l") == {
        "name": "A",
        "others": ["b", "c"],
        "dry_run": True,
        "shown": False,
        "colour": Colour.BLUE,
        "level": "high",
        "number": 9,
        "share": 0.5,
        "path": Path("x/y"),
        "label": ["k", "l"],
    }


def test_help_describes_arguments_defaults_and_ranges() -> None:
    printed = taken("--help")["printed"]
    assert "NAME    Its name.  [required]" in printed
    assert "OTHERS  More.\n" in printed
    assert "[default: red]" in printed
    assert "[default: 3; 1<=x<=9]" in printed
    assert "Labels.\n" in printed


def test_a_parameter_that_says_nothing_about_itself_is_a_mistake_of_the_programmer() -> None:
    def command(name: str) -> None: ...

    with pytest.raises(TypeError, match="parameter name must be annotated with Option or Argument"):
        command_of(command, "command")


def test_an_action_is_made_when_it_is_called() -> None:
    group = CommandGroup("Two actions.")

    @group.action("good")
    def good() -> None:
        """Works."""
        click.echo("done")

    @group.action("bad")
    def bad(broken: int) -> None: ...

    assert CliRunner().invoke(group, ["good"]).output == "done\n"
    assert "Did you mean 'good'?" in CliRunner().invoke(group, ["god"]).output
