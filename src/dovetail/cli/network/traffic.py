"""`dovetail traffic`: which workloads exchange how much."""

from typing import Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect


def command(
    limit: Annotated[int, Option(metavar="N", min=1, max=1000, help="How many pairs at most.")] = 50,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Which workloads and services exchange how much, as declared (`traffic:`) and as machines have counted it, how far
    they are apart, and what to declare so that they are placed near each other.
    """
    with connect(url) as client:
        rows = client.traffic(limit=limit)
    show(rows, output, lambda wide: render.traffic.traffic_list(rows, wide))
