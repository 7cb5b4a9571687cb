"""`dovetail cordon`, `uncordon`, `drain` and `fail`: whether a node takes work."""

from collections.abc import Callable
from typing import Annotated

import click

from dovetail.cli.nodes.node_selector import Nodes, Selector, chosen_nodes
from dovetail.cli.terminal.failure import ExitCode, told
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, connect
from dovetail.model.text.listing import count

Reason = Annotated[str, Option(metavar="TEXT", help="Why, shown with the node.")]
LevelName = Annotated[str, Argument(metavar="LEVEL", help="node, or a level such as rack, leaf or zone.")]
DomainName = Annotated[str, Argument(metavar="NAME", help="Which one.")]


def cordon(nodes: Nodes = None, selector: Selector = None, reason: Reason = "", url: Url = None) -> None:
    """Let nodes take no new work. Their tasks keep running."""
    with connect(url) as client:

        def act(node: str) -> str:
            found = client.cordon(node, reason=reason)
            return f"{node} is {found['status']}: it takes no new work; what runs there goes on"

        _for_each(chosen_nodes(client, nodes, selector), act)


def uncordon(nodes: Nodes = None, selector: Selector = None, url: Url = None) -> None:
    """Let nodes take work again, after a cordon or a drain."""
    with connect(url) as client:
        _for_each(chosen_nodes(client, nodes, selector), lambda node: f"{node} is {client.uncordon(node)['status']}")


def drain(nodes: Nodes = None, selector: Selector = None, reason: Reason = "", url: Url = None) -> None:
    """Cordon nodes and move their tasks to other nodes, for maintenance. `uncordon` lets them take work again.

    Several nodes are cordoned first, so that no task moves from one of them to another.
    """
    with connect(url) as client:
        chosen = chosen_nodes(client, nodes, selector)
        if len(chosen) > 1:
            _for_each(chosen, lambda node: str(client.cordon(node, reason=reason)["status"]), quiet=True)

        def act(node: str) -> str:
            found = client.drain(node, reason=reason)
            left = f"; {found['tasks']} of its tasks are still to move" if found["tasks"] else "; nothing runs there"
            return f"{node} is {found['status']}{left}"

        _for_each(chosen, act)


def _for_each(nodes: list[str], act: Callable[[str], str], quiet: bool = False) -> None:
    """All are tried, even if one fails; the first failure decides the exit code."""
    from dovetail.client import DovetailError

    code = ExitCode.DONE
    for node in nodes:
        try:
            words = act(node)
        except DovetailError as error:
            lines, found = told(error)
            code = code or found
            if not quiet:
                say("\n".join(lines))
        else:
            if not quiet:
                click.echo(words)
    if code and not quiet:
        raise click.exceptions.Exit(code)


def fail(level: LevelName, name: DomainName, reason: Reason = "", url: Url = None) -> None:
    """Report that a node or a whole domain has failed: dovetail fail leaf l3

    The nodes are cordoned and their tasks are placed elsewhere. Gangs that lost tasks are recovered with as few moves
    as possible; what is done for them at once is printed. `uncordon` brings a node back."""
    with connect(url) as client:
        report = client.fail(level, name, reason=reason)
    click.echo(f"{level} {name} failed: {count(len(report['nodes']), 'node')} cordoned, their work is lost")
    for line in report["recoveries"]:
        click.echo(line)
