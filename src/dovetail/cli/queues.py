"""`dovetail queues`: the tree of queues and how fair it is."""

from dovetail.cli.output import Format, Output, show
from dovetail.cli.server import Url, connect


def command(output: Output = Format.TABLE, url: Url = None) -> None:
    """The tree of queues: what each holds of its dominant resource against its guarantee and its maximum, who borrows
    from whom, how many workloads wait, and how far each tenant is from its fair share.
    """
    with connect(url) as client:
        found = client.queues()
    from dovetail.cli.render.queues import queue_tree

    show(found, output, lambda wide: queue_tree(found, wide))
