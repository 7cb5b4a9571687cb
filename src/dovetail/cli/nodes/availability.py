"""`dovetail cordon`, `uncordon`, `drain` and `fail`: whether a node takes work."""

from typing import Annotated

import click

from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import NodeName, Url, connect
from dovetail.model.text.listing import count

Reason = Annotated[str, Option(metavar="TEXT", help="Why, shown with the node.")]
LevelName = Annotated[str, Argument(metavar="LEVEL", help="node, or a level such as rack, leaf or zone.")]
DomainName = Annotated[str, Argument(metavar="NAME", help="Which one.")]


def cordon(node: NodeName, reason: Reason = "", url: Url = None) -> None:
    """Let a node take no new work. Its tasks keep running."""
    with connect(url) as client:
        found = client.cordon(node, reason=reason)
    click.echo(f"{node} is {found['status']}: it takes no new work; what runs there goes on")


def uncordon(node: NodeName, url: Url = None) -> None:
    """Let a node take work again, after a cordon or a drain."""
    with connect(url) as client:
        found = client.uncordon(node)
    click.echo(f"{node} is {found['status']}")


def drain(node: NodeName, reason: Reason = "", url: Url = None) -> None:
    """Cordon a node and move its tasks to other nodes, for maintenance. `uncordon` lets it take work again."""
    with connect(url) as client:
        found = client.drain(node, reason=reason)
    left = f"; {found['tasks']} of its tasks are still to move" if found["tasks"] else "; nothing runs there"
    click.echo(f"{node} is {found['status']}{left}")


def fail(level: LevelName, name: DomainName, reason: Reason = "", url: Url = None) -> None:
    """Report that a node or a whole domain has failed: dovetail fail leaf l3

    The nodes are cordoned and their tasks are placed elsewhere. Gangs that lost tasks are recovered with as few moves
    as possible; what is done for them at once is printed. `uncordon` brings a node back."""
    with connect(url) as client:
        report = client.fail(level, name, reason=reason)
    click.echo(f"{level} {name} failed: {count(len(report['nodes']), 'node')} cordoned, their work is lost")
    for line in report["recoveries"]:
        click.echo(line)
