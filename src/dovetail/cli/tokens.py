"""`dovetail token`: make, list and revoke the tokens with which people and nodes speak to the server."""

import time
from pathlib import Path
from typing import Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import NodeName, Url, connect

command = default_group("Who may speak to the server: rotate the admin token, let nodes join.")


@command.action("list")
def list_tokens(output: Output = Format.TABLE, url: Url = None) -> None:
    """Join tokens that still admit nodes. `dovetail token` does this. No token is shown: the server knows none."""
    with connect(url) as client:
        rows = client.join_tokens()
    show(rows, output, lambda wide: render.tokens.join_token_list(rows, time.time(), wide))


@command.action("rotate")
def rotate(output: Output = Format.TABLE, url: Url = None) -> None:
    """Make another admin token and print it; the old one is worth nothing from then on.

    Commands of the account that runs the server find the new one by themselves.
    """
    with connect(url) as client:
        made = client.rotate_admin_token()
    show(made, output, lambda _: made["token"])
    click.echo(f"it also lies in {made['file']} on the server's machine", err=True)


@command.action("join")
def join(
    uses: Annotated[int, Option(metavar="N", min=1, max=10_000, help="How many nodes it admits.")] = 1,
    ttl: Annotated[str, Option(metavar="DURATION", help="How long it admits them, such as 1h; at most 30d.")] = "1h",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Print a new token with which nodes may register: dovetail token join --uses 4 --ttl 1h

    Each node then gets a token of its own, which speaks for that node alone.
    """
    with connect(url) as client:
        made = client.make_join_token(uses=uses, ttl=ttl)
    show(made, output, lambda _: made["token"])
    click.echo(f"on each machine: DOVETAIL_TOKEN=… dovetail agent --join {client.url}{_trusted(client.url)}", err=True)


def _trusted(url: str) -> str:
    """The option by which an agent elsewhere believes the certificate that this account's server has made."""
    from dovetail.client.transport.credentials import credentials_for

    certificate = credentials_for(url).certificate
    if certificate is None:
        return ""
    from dovetail.access.certificates import fingerprint

    return f" --fingerprint {fingerprint(Path(certificate))}"


@command.action("revoke")
def revoke(
    number: Annotated[int, Argument(metavar="ID", help="The join token, as `dovetail token list` shows it.")],
    url: Url = None,
) -> None:
    """Let a join token admit nobody from now on. Nodes that have joined stay."""
    with connect(url) as client:
        client.revoke_join_token(number)
    click.echo(f"join token {number}: revoked")


@command.action("sessions")
def sessions(output: Output = Format.TABLE, url: Url = None) -> None:
    """Sessions of browsers that are open: whose, since when, when last used. `dovetail open` opens one."""
    with connect(url) as client:
        rows = client.browser_sessions()
    show(rows, output, lambda wide: render.tokens.session_list(rows, time.time(), wide))


@command.action("logout")
def logout(
    number: Annotated[int, Argument(metavar="ID", help="The session, as `dovetail token sessions` shows it.")],
    url: Url = None,
) -> None:
    """End the session of a browser. It has to log in again."""
    with connect(url) as client:
        client.end_browser_session(number)
    click.echo(f"session {number}: ended")


@command.action("node")
def node_token(node: NodeName, output: Output = Format.TABLE, url: Url = None) -> None:
    """Print a new token for a registered node; the one that it had is worth nothing from then on."""
    with connect(url) as client:
        made = client.make_node_token(node)
    show(made, output, lambda _: made["token"])
