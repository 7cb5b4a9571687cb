"""`dovetail placement-counts`."""

import click

from dovetail.cli.terminal.server import Url, server_url


def command(url: Url = None) -> None:
    """How many tasks were placed on each node."""
    import httpx

    answer = httpx.get(f"{server_url(url)}/api/v1/subsystems/placement_counts")
    answer.raise_for_status()
    for node, count in answer.json().items():
        click.echo(f"{node}  {count}")
