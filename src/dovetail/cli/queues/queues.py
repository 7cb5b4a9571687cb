"""`dovetail queue` and `dovetail queues`: the pending queue, and the tree of queues with its fairness."""

import time
from typing import Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect


def queue(
    limit: Annotated[int, Option(metavar="N", min=1, max=1000, help="How many at most.")] = 50,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Pending workloads in the order the scheduler tries them: how long, until about when, and why each waits.

    STARTS is a prediction with its range; a dash where it cannot be predicted, as after work without a run time.
    """
    with connect(url) as client:
        items = client.queue(limit=limit)
    show(items, output, lambda wide: render.queues.queue_list(items, time.time(), wide))


def queues(output: Output = Format.TABLE, url: Url = None) -> None:
    """The tree of queues: what each holds of its dominant resource against its guarantee and its maximum, who borrows
    from whom, how many workloads wait, and how far each tenant is from its fair share.
    """
    with connect(url) as client:
        found = client.queues()
    show(found, output, lambda wide: render.queues.queue_tree(found, wide))
