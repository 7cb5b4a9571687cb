"""`dovetail config`: the settings of the control plane, checked and shown."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli.terminal.default_action import plain_group
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument

if TYPE_CHECKING:
    from dovetail.control.settings import Settings

command = plain_group("Check or show the settings of the control plane.")

ConfigFile = Annotated[
    Path | None, Argument(metavar="FILE", help="The settings file.  [default: $DOVETAIL_CONFIG, or none]")
]


def load(file: Path | None, env: dict[str, str]) -> "Settings":
    """The effective settings with this file and these variables. Raises Invalid with every mistake."""
    from dovetail.control.settings import load_settings

    named = env.get("DOVETAIL_CONFIG")
    return load_settings(file or (Path(named) if named else None), env)


@command.action("check")
def check(file: ConfigFile = None) -> None:
    """Print everything that is wrong with the settings, one line each; exit code 2 if anything is."""
    settings = load(file, dict(os.environ))
    profile, backends = settings.scheduling.default_profile, ", ".join(settings.backends) or "none"
    click.echo(f"{file or 'the settings'}: good; default profile {profile}, backends: {backends}")


@command.action("show")
def show_settings(file: ConfigFile = None, output: Output = Format.YAML) -> None:
    """The effective settings: defaults, then the file, then DOVETAIL_* variables."""
    data = load(file, dict(os.environ)).model_dump(mode="json")
    show(data, output if output is Format.JSON else Format.YAML, str)
