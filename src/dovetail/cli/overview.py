"""`dovetail attention`, `trends` and `decisions`: how the cluster does, now and over time."""

import time
from typing import Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.past import ACCEPTED, seconds_ago
from dovetail.cli.terminal.server import Url, connect

POINTS = 48
LEAST_S, MOST_S = 10.0, 30 * 86_400.0


def attention(output: Output = Format.TABLE, url: Url = None) -> None:
    """What needs a person now, the worst first, each with the command that says more: nodes that do not answer,
    backends
    in trouble, gangs that wait although enough GPUs are free, work that fits on no node, budgets, stuck updates.
    """
    with connect(url) as client:
        found = client.attention()
    show(found, output, lambda wide: render.overview.attention_list(found, wide))


def trends(
    series: Annotated[list[str] | None, Argument(metavar="SERIES", help="cpu, gpu, waiting, …; all without.")] = None,
    since: Annotated[str, Option(metavar="TIME", help=f"From when on: {ACCEPTED}; 30d at most.")] = "1h",
    points: Annotated[int, Option(metavar="N", min=1, max=2000, help="How many steps at most.")] = POINTS,
    node: Annotated[str | None, Option(metavar="NODE", help="Of this node, 7d at most.")] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """How use, waiting work, decisions and failures went over time, as lines of small bars: `▁▂▅▇`. The server keeps an
    hour in steps of 10 s, a day in minutes and 30 days in steps of 15 minutes; `·` marks time in which it did not run.

    With --node: what is requested of its CPU, memory and GPUs, and what it measures; an hour in minutes and a week in
    steps of 15 minutes.
    """
    with connect(url) as client:
        since_s = seconds_ago("--since", since, time.time(), LEAST_S, MOST_S)
        found = client.trends(since_s=since_s, points=points, series=series or (), node=node)
    show(found, output, lambda wide: render.overview.trend_lines(found, wide))


def decisions(
    limit: Annotated[int, Option(metavar="N", min=1, max=500, help="How many at most.")] = 20,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The latest decisions about any workload, newest first: placed where, or why not. Tasks that were decided alike at
    once are one line.
    """
    with connect(url) as client:
        found = client.recent_decisions(limit=limit)
    show(found, output, lambda wide: render.overview.decision_list(found, time.time(), wide))
