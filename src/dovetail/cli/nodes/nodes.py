"""`dovetail nodes`: `nodes` lists nodes, `nodes NAME` shows one, the other actions change one."""

import time
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import Files, read_all
from dovetail.cli.terminal.output import Format, Output, draw, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import NodeName, Url, connect

if TYPE_CHECKING:
    from dovetail.responses.combined import NodeWithTasks

command = default_group("List nodes (`nodes`), show one (`nodes NAME`), register or change one.")


@command.action("list")
def list_nodes(output: Output = Format.TABLE, url: Url = None) -> None:
    """All nodes with bars of use. This is what `dovetail nodes` does."""
    with connect(url) as client:
        nodes = client.nodes()
    show(nodes, output, lambda wide: render.nodes.node_list(nodes, wide))


@command.action("show")
def show_node(node: NodeName, output: Output = Format.TABLE, url: Url = None) -> None:
    """One node described in text, and its tasks. This is what `dovetail nodes NAME` does."""
    with connect(url) as client:
        if output.is_data:
            found: NodeWithTasks = {**client.node(node), "running": client.node_tasks(node)}
            show(found, output, str)
            return
        words, tasks = client.diagnostics(node), client.node_tasks(node)
    draw(render.nodes.one_node(words, tasks, time.time()), wide=output is Format.WIDE)


@command.action("register")
def register(file: Files = [], url: Url = None) -> None:  # noqa: B006 - the parser wants the default itself
    """Register nodes from files: name, capacity, labels, taints. Their agents then send heartbeats."""
    from dovetail.model.node import Node
    from dovetail.model.text.reading import read_as

    if not file:
        raise Failure("say which node: -f FILE with name and capacity", ExitCode.USAGE)
    nodes = read_all(file, lambda content, source: read_as(Node, content, source))
    with connect(url) as client:
        for node in nodes:
            client.register_node(node)
            click.echo(f"{node.name}: registered")


@command.action("label")
def label(
    node: NodeName,
    changes: Annotated[list[str], Argument(metavar="KEY=VALUE|KEY-", help="Set, or remove with a minus.")],
    url: Url = None,
) -> None:
    """Set or remove labels of a node: dovetail nodes label n1 disk=nvme old-"""
    labels: dict[str, str | None] = {}
    for change in changes:
        key, sign, value = change.partition("=")
        if sign:
            labels[key] = value
        elif change.endswith("-") and len(change) > 1:
            labels[change[:-1]] = None
        else:
            raise Failure(f"{change}: write KEY=VALUE to set a label, KEY- to take one away", ExitCode.USAGE)
    with connect(url) as client:
        found = client.patch_node(node, labels=labels)
    click.echo(f"{node}: " + (", ".join(f"{key}={value}" for key, value in found["labels"].items()) or "no labels"))


@command.action("taint")
def taint(
    node: NodeName,
    taints: Annotated[
        list[str] | None, Argument(metavar="KEY[=VALUE]:EFFECT", help="All taints that it shall have.")
    ] = None,
    none: Annotated[bool, Option("--none", help="Remove all taints.")] = False,
    url: Url = None,
) -> None:
    """Replace the taints of a node: dovetail nodes taint n1 dedicated=gpu:NoSchedule"""
    if bool(taints) == none:
        raise Failure("give the taints it is to have, or --none", ExitCode.USAGE)
    with connect(url) as client:
        found = client.patch_node(node, taints=[_taint(text) for text in taints or []])
    click.echo(f"{node}: " + (", ".join(found["taints"]) or "no taints"))


def _taint(text: str) -> dict[str, str]:
    what, colon, effect = text.rpartition(":")
    key, sign, value = what.partition("=")
    if not colon or not key:
        effects = "NoSchedule, PreferNoSchedule or NoExecute"
        raise Failure(f"{text}: write KEY=VALUE:EFFECT or KEY:EFFECT, with {effects}", ExitCode.USAGE)
    return {"key": key, "effect": effect} | ({"value": value} if sign else {})


@command.action("remove")
def remove(
    node: NodeName,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Why, for its history.")] = None,
    url: Url = None,
) -> None:
    """Remove a node. Its tasks wait for another node."""
    with connect(url) as client:
        client.remove_node(node, reason=reason)
    click.echo(f"{node}: removed")
