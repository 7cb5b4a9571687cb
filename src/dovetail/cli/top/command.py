"""`dovetail top`: the whole cluster, live on a terminal; one frame of it in a pipe."""

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect, server_url

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Drawing
    from dovetail.client import Client
    from dovetail.responses.combined import ClusterOverview

_FIRST_WAITING = 50
_LINES_IN_A_PIPE = 40


def command(
    once: Annotated[bool, Option("--once", help="Print one frame and exit, as in a pipe.")] = False,
    interval_s: Annotated[
        float, Option("--interval", "-i", metavar="SECONDS", min=0.2, max=3600, help="Refresh at most this often.")
    ] = 1.0,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The whole cluster on one screen: use and its trend, workloads, pending work, queues, nodes.

    On a terminal it is live and takes keys: ? lists them, Enter explains the selected workload, q ends it. Elsewhere,
    and with --once, it prints one frame: use, the busiest nodes, the queue.
    """
    if once or output.is_data or not (sys.stdout.isatty() and sys.stdin.isatty()):
        with connect(url) as client:
            look = _look(client, whole=output.is_data)
        show(look, output, lambda wide: _frame(look, _LINES_IN_A_PIPE, wide))
        return
    from dovetail.cli.top.screen import live_top

    live_top(partial(connect, url, told=False), server_url(url), interval_s)


def _look(client: "Client", whole: bool = False) -> "ClusterOverview":
    """`whole`: with everything that waits, however much that is."""
    summary, nodes, page = client.summary(), client.nodes(), client.queue_page(limit=_FIRST_WAITING)
    queue, total = page["items"], page["total"]
    return {"summary": summary, "nodes": nodes, "queue": client.queue() if whole else queue, "waiting": total}


def _frame(look: "ClusterOverview", lines: int, wide: bool) -> "Drawing":
    return render.cluster.cluster_frame(**look, lines=lines, now=time.time(), wide=wide)
