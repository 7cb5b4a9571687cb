"""`dovetail rebalance`: how evenly nodes are used, which moves pay, and what was moved."""

import time
from typing import Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect


def command(
    now: Annotated[bool, Option("--now", help="Move what pays now, whether rebalancing is on or not.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """How evenly nodes are used: the load of the fullest against the emptiest, the distance between tasks that talk to
    each other, which moves would pay now, and what was moved lately. Nothing is moved without --now.
    """
    with connect(url) as client:
        found = client.rebalance() if now else client.rebalancing()
    show(found, output, lambda wide: render.rebalancing.balance_report(found, time.time(), wide))
