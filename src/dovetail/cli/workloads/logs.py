"""`dovetail logs`: what a task wrote."""

import time
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.terminal.named import typed_name
from dovetail.cli.terminal.output import say, write
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect

if TYPE_CHECKING:
    from dovetail.client import Client

_PAUSE_S = 0.5
_NOT_STARTED = frozenset({"pending", "placed", "bound"})


def command(
    name: WorkloadName,
    replica: Annotated[
        int | None, Option("--replica", "-r", metavar="N", min=0, help="Which task; else the one in NAME, or 0.")
    ] = None,
    follow: Annotated[bool, Option("--follow", help="Go on until the task ends.")] = False,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Print what a task wrote to its output and error output; the latest attempt where there were several."""
    with connect(url) as client:
        found = client.named(name, namespace)
        which = next((one for one in (replica, found["replica"]) if one is not None), 0)
        for row in found["workloads"]:
            if len(found["workloads"]) > 1:
                say(f"{typed_name(row)}:")
            _print(client, row["id"], which, follow)


def _print(client: "Client", id_: int, replica: int, follow: bool) -> None:
    if follow:
        _await_start(client, id_, replica)
        for text in client.follow_logs(id_, replica=replica):
            write(text)
        return
    offset = 0
    while True:
        chunk = client.logs(id_, replica=replica, offset=offset)
        write(chunk.text)
        if chunk.ended or chunk.next_offset == offset:
            return
        offset = chunk.next_offset


def _await_start(client: "Client", id_: int, replica: int) -> None:
    """Wait until the task has a node, and say why it waits: before that it has no output."""
    told = ""
    while True:
        rows = client.tasks(id_, limit=1, offset=replica)
        if not rows or rows[0]["state"] not in _NOT_STARTED:
            return
        words = f"waiting: it is {rows[0]['state']}" + (f", {rows[0]['message']}" if rows[0]["message"] else "")
        if words != told:
            say(words)
            told = words
        time.sleep(_PAUSE_S)
