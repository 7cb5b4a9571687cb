"""`dovetail mcp`: a server of read-only tools for assistants, over stdio or HTTP."""

import sys
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect, server_url

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_PATH = "/mcp"


def command(
    http: Annotated[
        str | None, Option("--http", metavar="HOST:PORT", help="Listen there instead of on stdin and stdout.")
    ] = None,
    url: Url = None,
) -> None:
    """Serve tools for assistants that speak the Model Context Protocol: explain, why_not, plan, queue, capacity …

    They ask the control plane and change nothing. An assistant starts this command and talks to it over stdin and
    stdout; it then has the rights of the token that any command finds. With --http each caller sends its own token as
    a bearer token, and has the rights of that one. Needs the extra: pip install 'dovetail-scheduler[mcp]'
    """
    address = None if http is None else _address(http)
    try:
        from dovetail.cli.mcp.server import tool_server
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("mcp"):
            raise
        raise Failure("the library mcp is missing; install it: pip install 'dovetail-scheduler[mcp]'") from None
    asked = server_url(url)
    if address is None:
        _over_stdio(tool_server(lambda _: connect(url, told=False)), asked)
        return
    from dovetail.client import Client

    host, port = address
    say(f"the tools of {asked} listen on http://{host}:{port}{_PATH}; Ctrl-C ends them")
    tools = tool_server(lambda token: Client(asked, token), needs_token=True)
    tools.run("streamable-http", host=host, port=port, streamable_http_path=_PATH)


def _over_stdio(tools: "MCPServer[object]", url: str) -> None:
    if sys.stdin.isatty():
        say(f"the tools of {url} wait for an assistant on stdin; docs/mcp.md says how one starts this command")
    tools.run("stdio")


def _address(http: str) -> tuple[str, int]:
    from dovetail.access.addresses import is_loopback

    host, _, port = http.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Failure(f"--http: {http!r} is no address; write one such as 127.0.0.1:8765", ExitCode.USAGE)
    if not is_loopback(host.strip("[]")):
        raise Failure(
            f"--http: {host} can be reached from other machines, and tokens would travel unencrypted; "
            "listen on 127.0.0.1, behind a proxy with TLS",
            ExitCode.USAGE,
        )
    return host.strip("[]"), int(port)
