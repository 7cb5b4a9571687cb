"""`dovetail top`: the whole cluster, refreshed in place."""

import sys
import time
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.screen import screen_size, whole_screen
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Drawing
    from dovetail.client import Client
    from dovetail.responses.combined import ClusterOverview

_FIRST_WAITING = 50
_LINES_IN_A_PIPE = 40


def command(
    once: Annotated[bool, Option("--once", help="Print one frame and exit, as in a pipe.")] = False,
    interval_s: Annotated[
        float, Option("--interval", "-i", metavar="SECONDS", min=0.2, max=3600, help="Refresh interval.")
    ] = 2.0,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The whole cluster on one screen: use, busiest nodes, queue. Ctrl-C ends it."""
    with connect(url) as client:
        if once or not sys.stdout.isatty() or output.is_data:
            look = _look(client, whole=output.is_data)
            show(look, output, lambda wide: _frame(look, _LINES_IN_A_PIPE, wide))
            return
        look, trouble = _look(client), ""  # if no server answers, the error is printed on the plain screen
        wide = output is Format.WIDE
        with whole_screen() as paint:
            while True:
                columns, lines = screen_size()
                paint(_frame(look, lines, wide, trouble).lines(columns))
                time.sleep(interval_s)
                look, trouble = _look_again(client, look)


def _look(client: "Client", whole: bool = False) -> "ClusterOverview":
    """`whole`: with everything that waits, however much that is."""
    summary, nodes, page = client.summary(), client.nodes(), client.queue_page(limit=_FIRST_WAITING)
    queue, total = page["items"], page["total"]
    return {"summary": summary, "nodes": nodes, "queue": client.queue() if whole else queue, "waiting": total}


def _look_again(client: "Client", before: "ClusterOverview") -> "tuple[ClusterOverview, str]":
    """While the server does not answer, the overview from before and the error."""
    from dovetail.client import ConnectError, DovetailError

    try:
        return _look(client), ""
    except (ConnectError, DovetailError) as error:
        return before, str(error)


def _frame(look: "ClusterOverview", lines: int, wide: bool, trouble: str = "") -> "Drawing":
    return render.cluster.cluster_frame(**look, lines=lines, now=time.time(), wide=wide, trouble=trouble)
