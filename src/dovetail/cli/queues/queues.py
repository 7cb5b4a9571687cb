"""`dovetail queue` and `dovetail queues`: the pending queue, and the tree of queues with its fairness."""

import time
from typing import Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect

FIRST = 50  # workloads of a table, where nobody says how many


def queue(
    limit: Annotated[
        int | None, Option(metavar="N", min=1, help=f"How many at most.  [default: {FIRST}; -o wide: all]")
    ] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Pending workloads in the order the scheduler tries them: how long, until about when, and why each waits.

    STARTS is a prediction with its range; a dash where it cannot be predicted, as after work without a run time.
    """
    with connect(url) as client:
        if output is not Format.TABLE or (limit or 0) > FIRST:
            items = client.queue(limit=limit)
            total = len(items) if limit is None else client.queue_page(limit=1)["total"]
        else:
            page = client.queue_page(limit=limit or FIRST)
            items, total = page["items"], page["total"]
    show(items, output, lambda wide: render.queues.queue_list(items, time.time(), wide, total))


def queues(output: Output = Format.TABLE, url: Url = None) -> None:
    """The tree of queues: what each holds of its dominant resource against its guarantee and its maximum, who borrows
    from whom, how many workloads wait, and how far each tenant is from its fair share.
    """
    with connect(url) as client:
        found = client.queues()
    show(found, output, lambda wide: render.queues.queue_tree(found, wide))
