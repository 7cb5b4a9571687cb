"""Policies on a batch log: a row each, the best figure of each column marked, and how good predicted starts were."""

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.spans import span
from dovetail.cli.render.parts.table import Header, Listing, table
from dovetail.simulate.comparison import BatchRun, yardstick

_BEST = "bold green"


def comparison(runs: Sequence[BatchRun], headline: str, wide: bool = False) -> RenderableType:
    parts: list[RenderableType] = [Text(headline), Text(""), _figures(runs, wide)]
    if any(run.predictions is not None for run in runs):
        parts += [Text(""), _predictions(runs)]
    return Group(*parts)


def _figures(runs: Sequence[BatchRun], wide: bool) -> Listing:
    fcfs = yardstick(runs)
    columns = [Header("POLICY"), Header("BACKFILL"), Header("SLOWDOWN", right=True), Header("MEDIAN", right=True)]
    columns += [Header("MEAN WAIT", right=True), Header("LONGEST", right=True), Header("OF FCFS", right=True)]
    columns += [Header("USED", right=True), Header("BY SEQUENCE", wide=True)]
    slowdowns = _marked([run.figures.mean_slowdown for run in runs], lambda value: f"{value:.2f}")
    medians = _marked([run.figures.median_slowdown for run in runs], lambda value: f"{value:.2f}")
    means = _marked([run.figures.mean_wait_s for run in runs], span)
    longest = _marked([run.figures.longest_wait_s for run in runs], span)
    rows = []
    for place, run in enumerate(runs):
        share = None if fcfs is None else run.figures.longest_against(fcfs.figures)
        rows.append(
            [
                run.policy,
                run.backfill,
                slowdowns[place],
                medians[place],
                means[place],
                longest[place],
                None if share is None else f"{share:.2f}×",
                f"{run.figures.utilisation:.1%}",
                " ".join(f"{one.mean_slowdown:.2f}" for one in run.figures.sequences),
            ]
        )
    return table(columns, rows, wide)


def _marked(values: Sequence[float], shown: Callable[[float], str]) -> list[Text]:
    """The lowest stands out, unless all look the same."""
    words = [shown(value) for value in values]
    best = min(values) if len(set(words)) > 1 else None
    return [Text(word, style=_BEST if value == best else "") for word, value in zip(words, values, strict=True)]


def _predictions(runs: Sequence[BatchRun]) -> Listing:
    columns = (
        Header("PREDICTED STARTS"),
        Header("WAITED", right=True),
        Header("TOLD", right=True),
        Header("MEDIAN ERROR", right=True),
        Header("IN RANGE", right=True),
    )
    rows = [
        [
            f"{run.policy} {run.backfill}",
            found.waited,
            found.told,
            span(found.median_error_s),
            None if found.in_range is None else f"{found.in_range:.1%}",
        ]
        for run in runs
        if (found := run.predictions) is not None
    ]
    return table(columns, rows)
