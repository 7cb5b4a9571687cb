"""`dovetail nodes`: `nodes` lists nodes, `nodes NAME` shows one, the other actions change one."""

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.nodes.node_selector import Selector, in_state, read_selector
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import Files, as_in, located, read_all
from dovetail.cli.terminal.output import Format, Output, draw, say, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import NodeName, Url, connect
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.model.node import Node
    from dovetail.responses.combined import NodeWithTasks
    from dovetail.responses.nodes import NodeRow

SORTED_BY = ("name", "tasks", "load", "cpu", "memory", "gpu", "disk")

#: A list, or several documents.
_HOLDS_SEVERAL = re.compile(rb"^(---|- |\[|\s*\[)", re.MULTILINE)

command = default_group("List nodes (`nodes`), show one (`nodes NAME`), register or change one.")


@command.action("list")
def list_nodes(
    selector: Selector = None,
    state: Annotated[
        str | None, Option(metavar="STATE", help="online, offline, cordoned, drained, quarantined.")
    ] = None,
    sort: Annotated[
        str, Option(metavar="COLUMN", help="name, tasks, load, cpu, memory, gpu or disk; most used first.")
    ] = "name",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Nodes with bars of use. This is what `dovetail nodes` does."""
    matches = read_selector(selector) if selector else None
    with connect(url) as client:
        found = client.nodes()
    nodes = _sorted([row for row in in_state(found, state) if matches is None or matches(row["labels"])], sort)
    if found and not nodes and not output.is_data:
        say(f"none of {count(len(found), 'node')} is like that")
        return
    show(nodes, output, lambda wide: render.nodes.node_list(nodes, wide))


def _sorted(rows: "list[NodeRow]", column: str) -> "list[NodeRow]":
    """By name, or by use with the most used first."""
    if column not in SORTED_BY:
        raise Failure(f"--sort {column}: write one of {', '.join(SORTED_BY)}", ExitCode.USAGE)

    def use(row: "NodeRow") -> float:
        if column in ("tasks", "load"):
            return -row["tasks"] if column == "tasks" else -row["load"]
        return -row["resources"][column]["share"] if column in row["resources"] else 1.0

    return sorted(rows, key=lambda row: (0.0 if column == "name" else use(row), row["name"]))


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
    if not file:
        raise Failure("say which node: -f FILE with name and capacity", ExitCode.USAGE)
    texts = read_all(file, lambda content, source: [(source, content)])
    with connect(url) as client:
        if len(texts) == 1 and not _HOLDS_SEVERAL.search(texts[0][1]):
            source, text = texts[0]
            with located(as_in(source)):  # the server reads it: that is faster than to learn to read it here
                click.echo(f"{client.register_node(text)['name']}: registered")
            return
        for node in _checked(texts):
            client.register_node(node)
            click.echo(f"{node.name}: registered")


def _checked(texts: Sequence[tuple[str, bytes]]) -> "list[Node]":
    """The nodes of all files. They are checked here first, so that with a mistake none is registered."""
    from dovetail.model.node import Node
    from dovetail.model.text.complaint import Complaint, Invalid
    from dovetail.model.text.reading import read_as

    complaints: list[Complaint] = []
    nodes: list[Node] = []
    for source, text in texts:
        try:
            nodes += read_as(Node, text, source)
        except Invalid as invalid:
            complaints += invalid.complaints
    if complaints:
        raise Invalid(complaints)
    return nodes


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
