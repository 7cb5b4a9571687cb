"""`dovetail fail`: say that a node, a switch or a whole domain is gone."""

from typing import Annotated

import typer

from dovetail.cli.cordon import Reason
from dovetail.cli.server import Url, connect

LevelName = Annotated[str, typer.Argument(metavar="LEVEL", help="node, or a level such as rack, leaf or zone.")]
DomainName = Annotated[str, typer.Argument(metavar="NAME", help="Which one.")]


def command(level: LevelName, name: DomainName, reason: Reason = "", url: Url = None) -> None:
    """Say that a node or a whole domain has failed: dovetail fail leaf l3

    Its nodes are cordoned and what ran there is lost: it is placed elsewhere, and gangs that lost tasks are made whole
    with as few moves as can be; what is done for them at once is printed. `uncordon` brings a node back."""
    with connect(url) as client:
        report = client.fail(level, name, reason=reason)
    count = len(report["nodes"])
    typer.echo(f"{level} {name} failed: {count} node{'' if count == 1 else 's'} cordoned, their work is lost")
    for line in report["recoveries"]:
        typer.echo(line)
