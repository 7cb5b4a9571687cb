"""`dovetail completion`: the script that makes a shell complete commands and options."""

import os
from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def command(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")]) -> None:
    """Print the completion script of a shell: source <(dovetail completion bash)

    `dovetail --install-completion` puts it where your shell finds it.
    """
    from dovetail.cli.main import app

    os.environ["_DOVETAIL_COMPLETE"] = f"source_{shell}"  # Typer's own way to ask for it
    app(prog_name="dovetail")
