"""`dovetail cordon`: let a node take no new work."""

from typing import Annotated

import typer

from dovetail.cli.server import NodeName, Url, connect

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for those who ask later.")]


def command(node: NodeName, reason: Reason = "", url: Url = None) -> None:
    """Let a node take no new work. What runs there goes on."""
    with connect(url) as client:
        found = client.cordon(node, reason=reason)
    typer.echo(f"{node} is {found['status']}: it takes no new work; what runs there goes on")
