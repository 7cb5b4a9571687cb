"""`dovetail serve`: the control plane on this machine."""

import json
import os
import shlex
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli.program.config import load
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import DEFAULT_URL

if TYPE_CHECKING:
    from dovetail.control.plane import ControlPlane
    from dovetail.control.settings import Settings


class LogFormat(StrEnum):
    JSON = "json"
    CONSOLE = "console"


def command(
    config: Annotated[
        Path | None, Option("--config", "-c", metavar="FILE", help="Settings.  [default: $DOVETAIL_CONFIG]")
    ] = None,
    data: Annotated[Path | None, Option(metavar="DIR", help="Where everything is kept.")] = None,
    host: Annotated[str | None, Option(metavar="ADDRESS", help="Where to listen.")] = None,
    port: Annotated[
        int | None, Option(metavar="N", min=0, max=65535, help="Where to listen; 0 takes any free one.")
    ] = None,
    log_format: Annotated[LogFormat | None, Option(metavar="FORMAT", help="json, or console for people.")] = None,
) -> None:
    """Run the control plane: it places work, runs it on this machine and answers the other commands.

    Options win over DOVETAIL_* variables, these over the settings file. Ctrl-C stops it; running work goes on, and the
    next start finds it again.
    """
    options = {
        "DOVETAIL_DATA": None if data is None else str(data),
        "DOVETAIL_LISTEN__HOST": host,
        "DOVETAIL_LISTEN__PORT": port,
        "DOVETAIL_LOGGING__FORMAT": log_format,
    }
    # Variables are read as YAML, of which JSON is a part: a folder named `1` stays a name.
    given = {name: json.dumps(value) for name, value in options.items() if value is not None}
    settings = load(config, {**os.environ, **given})
    from dovetail.cli.program.serving import serve_until_stopped

    serve_until_stopped(settings, announce)


def announce(plane: "ControlPlane", url: str, dashboard: str) -> None:
    """Print the address on stdout, so that a script can read it; logs go to stderr."""
    from dovetail import __version__

    lines = [f"Dovetail {__version__} listens on {url}"]
    lines.append(f"  data   {plane.settings.folder}")
    lines.append(f"  token  {plane.settings.token_file}; commands of this account find it by themselves")
    if plane.settings.listen.tls is not None:
        lines.append(f"  TLS    {_certificate(plane.settings)}")
    elif not plane.settings.listen.is_loopback:
        lines.append("  others can read what is sent here: without TLS beyond this machine, as the settings say")
    lines.append(f"  nodes  {_nodes(plane)}")
    if dashboard:
        lines += ["in a browser, once and within five minutes (dovetail open prints another):", f"  {dashboard}"]
    lines += second_terminal(url)
    lines += ["  dovetail submit --name hello --wait -- echo hi", "  dovetail explain hello", "  dovetail top"]
    click.echo("\n".join([*lines, "Ctrl-C stops it."]))


def _certificate(settings: "Settings") -> str:
    from dovetail.access.certificates import fingerprint
    from dovetail.cli.program.serving import certificate_files

    files = certificate_files(settings)
    return "" if files is None else f"{files[0]}, SHA-256 {fingerprint(files[0])}"


def second_terminal(url: str) -> list[str]:
    """What to type first elsewhere, so that the commands shown below it find the program and this server."""
    lines = ["try in another terminal:"]
    activate = Path(sys.prefix, "bin", "activate")
    if shutil.which("dovetail") is None and activate.exists():
        lines.append(f"  source {shlex.quote(str(activate))}")
    if url != DEFAULT_URL:
        lines.append(f"  export DOVETAIL_URL={url}")
    return lines


def _nodes(plane: "ControlPlane") -> str:
    from dovetail.model.resources import show_amount
    from dovetail.model.text.listing import first_of

    nodes = plane.questions.nodes.uses()
    if not nodes:
        return "none yet; register one with: dovetail nodes register -f FILE"
    return first_of(
        nodes,
        words=lambda node: (
            f"{node.name} ({show_amount('cpu', node.capacity.get('cpu', 0))} cores, "
            f"{show_amount('memory', node.capacity.get('memory', 0))})"
        ),
    )
