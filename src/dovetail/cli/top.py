"""`dovetail top`: the whole cluster, refreshed in place."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.output import Format, Output, show, stdout
from dovetail.cli.server import Url, connect

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dovetail.client import Client

_FIRST_WAITING = 50
_LINES_IN_A_PIPE = 40


def command(
    once: Annotated[bool, typer.Option("--once", help="Print one frame and leave, as in a pipe.")] = False,
    interval_s: Annotated[
        float, typer.Option("--interval", "-i", metavar="SECONDS", min=0.2, max=3600, help="Between two looks.")
    ] = 2.0,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The whole cluster on one screen: use, busiest nodes, queue. Ctrl-C leaves."""
    console = stdout(output is Format.WIDE)
    with connect(url) as client:
        if once or not console.is_terminal or output in (Format.JSON, Format.YAML):
            look = _look(client)
            show(look, output, lambda wide: _frame(look, _LINES_IN_A_PIPE, wide))
            return
        from rich.live import Live

        look = _look(client)  # a server that is not there at all is said on the plain screen
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(_frame(look, console.height, output is Format.WIDE), refresh=True)
                time.sleep(interval_s)
                look = _look_again(client, look)


def _look(client: "Client") -> dict[str, Any]:
    return {"summary": client.summary(), "nodes": client.nodes(), "queue": client.queue(limit=_FIRST_WAITING)}


def _look_again(client: "Client", before: dict[str, Any]) -> dict[str, Any]:
    """While the server is silent the last frame stays, and says so."""
    from dovetail.client import ConnectError, DovetailError

    try:
        return _look(client)
    except (ConnectError, DovetailError) as error:
        return before | {"trouble": str(error)}


def _frame(look: dict[str, Any], lines: int, wide: bool) -> "RenderableType":
    from dovetail.cli.render.cluster import cluster_frame

    frame = cluster_frame(look["summary"], look["nodes"], look["queue"], lines, time.time(), wide)
    if "trouble" not in look:
        return frame
    from rich.console import Group
    from rich.text import Text

    return Group(Text(f"as it was last; {look['trouble']}", style="red"), frame)
