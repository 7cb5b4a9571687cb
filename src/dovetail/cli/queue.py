"""`dovetail queue`: what waits."""

import time
from typing import Annotated

import typer

from dovetail.cli.output import Format, Output, show
from dovetail.cli.server import Url, connect


def command(
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many at most.")] = 50,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What waits, in the order it is looked at: for how long, when it will probably start, and why it has to wait.

    STARTS is a prediction with its range; a dash where nobody can tell, as when it depends on work without a run time.
    """
    with connect(url) as client:
        items = client.queue(limit=limit)
    from dovetail.cli.render.queue import queue_list

    show(items, output, lambda wide: queue_list(items, time.time(), wide))
