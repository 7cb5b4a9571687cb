"""Which server a command talks to.

`--url` after the command wins over `--url` before it, that over DOVETAIL_URL, that over the default. Leaves talking to
the client, which is imported only when a command really asks the server.
"""

import os
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Argument, Option

if TYPE_CHECKING:
    from pathlib import Path

    from dovetail.client import Client

DEFAULT_URL = "http://127.0.0.1:8080"

Url = Annotated[
    str | None,
    Option("--url", metavar="URL", help=f"The server.  [default: $DOVETAIL_URL or {DEFAULT_URL}]", show_default=False),
]


def check_name(value: str | list[str] | None) -> str | list[str] | None:
    """Refuse names that would change the meaning of the path they become part of."""
    for name in value if isinstance(value, list) else [value]:
        if name in ("", ".", ".."):
            raise click.BadParameter(f"{name!r} is not a name")
    return value


_WORKLOAD = "The workload: [NAMESPACE/]NAME[.REPLICA], or its id."
WORKLOADS_HELP = "Workloads or groups: [NAMESPACE/]NAME, or ids."

WorkloadName = Annotated[str, Argument(metavar="WORKLOAD", callback=check_name, help=_WORKLOAD)]
NodeName = Annotated[str, Argument(metavar="NODE", callback=check_name, help="The node.")]
Names = Annotated[list[str], Argument(metavar="WORKLOAD", callback=check_name, help=WORKLOADS_HELP)]
Namespace = Annotated[
    str | None,
    Option("--namespace", "-n", metavar="NAMESPACE", help="Where to look; else in default, then everywhere."),
]
#: Of things that always are in a namespace, and not looked for in others.
InNamespace = Annotated[str, Option("--namespace", "-n", metavar="NAMESPACE", help="The namespace it is in.")]

_before_command: ContextVar[str | None] = ContextVar("_before_command", default=None)
_token_file: ContextVar["Path | None"] = ContextVar("_token_file", default=None)


def use_server(url: str | None) -> None:
    """Remember the `--url` that stood before the command."""
    _before_command.set(url)


def use_token_file(path: "Path") -> None:
    """Remember the `--token-file` that stood before the command."""
    _token_file.set(path)


def server_url(url: str | None = None) -> str:
    return url or _before_command.get() or os.environ.get("DOVETAIL_URL") or DEFAULT_URL


def connect(url: str | None = None, timeout_s: float | None = None, *, told: bool = True) -> "Client":
    """`timeout_s`: how long an answer may take; None: as long as the client allows. `told`: say on the terminal when an
    answer takes long; not for commands that have the terminal to themselves."""
    from dovetail.client import Client
    from dovetail.client.client import TIMEOUT_S

    try:
        found = Client(server_url(url), _token(), TIMEOUT_S if timeout_s is None else timeout_s)
    except ValueError as error:
        raise Failure(str(error), ExitCode.USAGE) from None
    if told and sys.stderr.isatty():
        from dovetail.cli.terminal.progress import PatientNote

        found._http.while_asking = PatientNote(_waiting_words(found.url)).while_asking
    return found


def _waiting_words(url: str) -> str:
    ctx = click.get_current_context(silent=True)
    return f"{ctx.command_path if ctx is not None else 'dovetail'}: waiting for {url}"


def ask_route(path: str, url: str | None = None) -> Any:
    """For commands of subsystems in other packages: what their route answers."""
    from dovetail.client.transport.transport import API

    with connect(url) as client:
        return client._http.json("GET", f"{API}{path}")


def _token() -> str | None:
    """From `--token-file`; the client looks in other places."""
    path = _token_file.get()
    if path is None:
        return None
    from dovetail.access.known_servers import read_token

    found = read_token(path)
    if found is None:
        raise Failure(f"--token-file: {path} holds no token, or cannot be read", ExitCode.USAGE)
    return found
