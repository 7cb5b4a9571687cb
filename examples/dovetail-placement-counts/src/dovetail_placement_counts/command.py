"""`dovetail placement-counts`."""

import click

from dovetail.cli.terminal.server import Url, ask_route


def command(url: Url = None) -> None:
    """How many tasks were placed on each node."""
    for node, count in ask_route("/subsystems/placement_counts", url).items():
        click.echo(f"{node}  {count}")
