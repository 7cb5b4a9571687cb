"""`dovetail version`, here and of the server; and `dovetail completion`, with which a shell completes commands."""

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.responses.combined import Versions


def version(output: Output = Format.TABLE, url: Url = None) -> None:
    """The version of this program and, where one answers, of the server."""
    from dovetail import __version__
    from dovetail.client import ConnectError, DovetailError

    found: Versions = {"client": __version__, "server": None}
    with connect(url) as client:
        address = client.url
        try:
            found["server"] = client.summary()["version"]
            where = f"server {found['server']} at {address}"
        except (ConnectError, DovetailError):
            where = f"no server answers at {address}"
    show(found, output, lambda _: f"dovetail {__version__}\n{where}")


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")]) -> None:
    """Print the completion script of a shell: source <(dovetail completion bash)

    `dovetail --install-completion` puts it where your shell finds it.
    """
    from dovetail.cli.main import app

    os.environ["_DOVETAIL_COMPLETE"] = f"source_{shell}"  # Typer's own way to ask for it
    app(prog_name="dovetail")
