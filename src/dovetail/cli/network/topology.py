"""`dovetail topology`: show the network as a tree of domains, and describe it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.render.heat_by import HeatBy
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import Failure
from dovetail.cli.terminal.output import Format, Output, show, warn
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, connect
from dovetail.model.network.topology_format import TopologyFormat

if TYPE_CHECKING:
    from dovetail.responses.combined import TopologyWithDomains

command = default_group("Show the network as a tree of domains (`topology`), or describe it (`topology set FILE`).")

FEW_NODES = 64  # so many are drawn without being asked for


@command.action("list")
def draw_tree(
    level: Annotated[
        str | None, Option("--level", metavar="LEVEL", help="Down to this level; such as spine or leaf.")
    ] = None,
    nodes: Annotated[
        bool | None, Option("--nodes/--no-nodes", help=f"With every node.  [default: up to {FEW_NODES}]")
    ] = None,
    gpus: Annotated[
        str | None, Option(metavar="N", help="How many tasks with so many GPUs each fit in one domain.")
    ] = None,
    by: Annotated[
        HeatBy | None,
        Option("--by", metavar="WHAT", help="Draw one cell a node instead: utilisation, fragmentation or health."),
    ] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Levels, domains and nodes, with bars of use. This is what `dovetail topology` does.

    With --by each domain is a strip of cells, one a node: which nodes are full, have free parts that work for whole
    nodes cannot use, or are out of service.
    """
    with connect(url) as client:
        topology, domains = client.topology(), client.domains(gpus=gpus)
        names = [one["name"] for one in topology["levels"]]
        if level is not None and level not in names:
            client.domains(level)  # says which levels there are
            level = next(one["name"] for one in topology["levels"] if one["label"] == level)
        kept = names if level is None else names[: names.index(level) + 1]
        domains = [one for one in domains if one["level"] in kept]
        if output.is_data:
            whole: TopologyWithDomains = {**topology, "domains": domains}
            show(whole, output, str)
            return
        if by is not None:
            rows = client.nodes()
            show(rows, output, lambda _: render.heat.heat_strips(topology, rows, by, level))
            return
        members = client.nodes() if nodes or (nodes is None and level is None) else []
    left_out = len(members) if nodes is None and len(members) > FEW_NODES else 0
    members = [] if left_out else members
    show(domains, output, lambda wide: render.topology.topology_tree(topology, domains, members, wide, left_out))


@command.action("set")
def set_topology(
    file: Annotated[Path, Argument(metavar="FILE", help="The description; - reads stdin.")],
    of: Annotated[
        TopologyFormat | None,
        Option("--format", metavar="FORMAT", help="yaml, slurm, lldp, csv or kubernetes.  [default: by name]"),
    ] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Describe the network and replace the last description: our own YAML, Slurm's topology.conf, LLDP neighbours,
    a CSV of links or hosts, or nodes as kubectl lists them."""
    from dovetail.cli.terminal.files import read_file
    from dovetail.model.network.topology_readers.reading import read_topology

    topology = read_topology(read_file(file), str(file), of)
    with connect(url) as client:
        made = client.set_topology(topology)
    show(made, output, lambda wide: render.topology.level_list(made, wide))
    if made["strangers"]:
        listed = made["some_strangers"] if output is Format.WIDE else made["some_strangers"][:5]
        left = made["strangers"] - len(listed)
        more = f" and {left} more; -o wide lists them" if left else ""
        words = f"note: {made['strangers']} of the hosts described are no nodes (yet): {', '.join(listed)}{more}"
        warn(words, "yellow")


@command.action("show")
def show_definition(output: Output = Format.YAML, url: Url = None) -> None:
    """The topology as it was described, ready for `topology set`."""
    with connect(url) as client:
        definition: dict[str, Any] = client.topology()["definition"]
    show(definition, output if output.is_data else Format.YAML, str)


@command.action("discover")
def discover(
    accept: Annotated[bool, Option("--accept", help="Describe the network this way.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Levels and domains found in what agents measured, for a network that nobody describes. Distances stay the
    measured ones."""
    with connect(url) as client:
        found = client.discovered_topology()
        if accept and not found["levels"]:
            raise Failure("no levels are found in what was measured, so there is nothing to accept")
        if accept:
            client.set_topology(found["definition"])
    show(found, output, lambda _: render.measured_network.discovered(found, accepted=accept))


@command.action("clear")
def clear(url: Url = None) -> None:
    """Remove the description; the labels of nodes say where they are."""
    with connect(url) as client:
        client.forget_topology()
    click.echo("topology cleared")
