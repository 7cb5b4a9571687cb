"""`dovetail drain`: take a node's work away."""

import typer

from dovetail.cli.cordon import Reason
from dovetail.cli.server import NodeName, Url, connect


def command(node: NodeName, reason: Reason = "", url: Url = None) -> None:
    """Cordon a node and move its work elsewhere, for maintenance. `uncordon` undoes it."""
    with connect(url) as client:
        found = client.drain(node, reason=reason)
    left = f"; {found['tasks']} of its tasks are still to move" if found["tasks"] else "; nothing runs there"
    typer.echo(f"{node} is {found['status']}{left}")
