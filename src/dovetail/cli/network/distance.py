"""`dovetail distance`: how far nodes are from each other, and distances set by hand."""

import time
from pathlib import Path
from typing import Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.past import ACCEPTED, seconds_ago
from dovetail.cli.terminal.server import Url, connect
from dovetail.model.text.listing import count

command = default_group("Distances between nodes, 0 to 100; `distance` alone lists those that were set by hand.")

NOT_MEASURED = "nobody measured in that time; agents on both sides measure it (`dovetail distance measured`)"
One = Annotated[str, Argument(metavar="NODE", help="A node.")]
Other = Annotated[str, Argument(metavar="NODE", help="Another one.")]


@command.action("list")
def list_distances(output: Output = Format.TABLE, url: Url = None) -> None:
    """Every distance that was set by hand."""
    with connect(url) as client:
        rows = client.distances()
    show(rows, output, lambda _: render.topology.distance_list(rows))


@command.action("get")
def get(one: One, other: Other, output: Output = Format.TABLE, url: Url = None) -> None:
    """How far two nodes are from each other, and what is between them."""
    with connect(url) as client:
        found = client.distance(one, other)
    show(found, output, lambda _: render.topology.apart(found))


@command.action("measured")
def measured(
    node: Annotated[str | None, Argument(metavar="NODE", help="Pairs with this node, also estimated ones.")] = None,
    limit: Annotated[int, Option(min=1, max=100_000, metavar="N", help="So many, the nearest first.")] = 50,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What agents measured between nodes, nearest first: every pair, or all pairs with one node."""
    with connect(url) as client:
        found = client.measured_distances(node, limit=limit)
    show(found, output, lambda wide: render.measured_network.measured_list(found, wide))


@command.action("trends")
def trends(
    one: Annotated[str, Argument(metavar="NODE", help="A node; with --level, a domain.")],
    other: Annotated[str, Argument(metavar="NODE", help="Another one.")],
    level: Annotated[str | None, Option(metavar="LEVEL", help="Between two domains of it, such as leaf.")] = None,
    since: Annotated[str, Option(metavar="TIME", help=f"From when on: {ACCEPTED}; 24h at most.")] = "1h",
    points: Annotated[int, Option(metavar="N", min=1, max=2000, help="How many steps at most.")] = 48,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The round-trip time and the loss that agents measured between two nodes or two domains, over time. The server
    keeps an hour in minutes and a day in steps of ten minutes; `·` marks time in which nobody measured."""
    with connect(url) as client:
        since_s = seconds_ago("--since", since, time.time(), least_s=10.0, most_s=86_400.0)
        found = client.distance_trends(one, other, level=level, since_s=since_s, points=points)
    show(found, output, lambda wide: render.overview.trend_lines(found, wide, NOT_MEASURED))


@command.action("set")
def set_distance(
    one: One,
    other: Other,
    distance: Annotated[float, Argument(metavar="DISTANCE", min=0, max=100, help="0 is near, 100 is far.")],
    url: Url = None,
) -> None:
    """Set the distance between two nodes, in both directions: dovetail distance set n1 n2 25"""
    with connect(url) as client:
        client.set_distances([(one, other, distance)])
    click.echo(f"{one} and {other}: {distance:g} apart")


@command.action("clear")
def clear(
    one: Annotated[str | None, Argument(metavar="NODE", help="A node.")] = None,
    other: Annotated[str | None, Argument(metavar="NODE", help="Another one.")] = None,
    everything: Annotated[bool, Option("--all", help="All that were set.")] = False,
    url: Url = None,
) -> None:
    """Clear the distance that was set between two nodes, or all with --all."""
    if everything == (one is not None) or (one is None) != (other is None):
        raise Failure("name two nodes, or give --all", ExitCode.USAGE)
    with connect(url) as client:
        cleared = client.clear_distances(one, other)
    click.echo(f"{count(cleared, 'distance')} cleared")


@command.action("import")
def import_table(
    file: Annotated[Path, Argument(metavar="FILE", help="CSV or JSON; - reads stdin.")], url: Url = None
) -> None:
    """Set many distances: CSV with the header from,to,distance, or JSON as `distance list -o json` prints it."""
    from dovetail.cli.terminal.files import as_in, located, read_file

    text = read_file(file)
    with connect(url) as client, located(as_in(str(file))):
        number = client.set_distances(text)
    click.echo(f"{count(number, 'distance')} set")


@command.action("export")
def export(url: Url = None) -> None:
    """Print all distances that were set, as CSV for `distance import`."""
    with connect(url) as client:
        click.echo(client.distances_csv(), nl=False)
