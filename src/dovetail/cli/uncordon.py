"""`dovetail uncordon`: let a node take work again."""

import typer

from dovetail.cli.server import NodeName, Url, connect


def command(node: NodeName, url: Url = None) -> None:
    """Let a node take work again, after a cordon or a drain."""
    with connect(url) as client:
        found = client.uncordon(node)
    typer.echo(f"{node} is {found['status']}")
