"""`dovetail version`, here and of the server; and `dovetail completion`, with which a shell completes commands."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument
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


def completion(shell: Annotated[Shell, Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")]) -> None:
    """Print the completion script of a shell: source <(dovetail completion bash)

    It completes commands, options, and the names of workloads, nodes, queues, profiles, policies and backends that
    the server knows. Without a server it offers none of these and says nothing.

    Let your shell read it at each start: add that line to ~/.bashrc. For zsh add it to ~/.zshrc with zsh, for fish
    print the script into ~/.config/fish/completions/dovetail.fish, for PowerShell into a file that $PROFILE runs.
    """
    from dovetail.cli.main import app
    from dovetail.cli.terminal.completion import completion_script

    click.echo(completion_script(shell, app))
