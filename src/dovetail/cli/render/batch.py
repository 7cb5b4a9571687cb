"""Policies on a batch log: a row each, the best figure of each column marked, and how good predicted starts were."""

from collections.abc import Sequence

from dovetail.cli.render.parts.table import Header, Listing, grid, marked
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span
from dovetail.simulate.comparison import BatchRun, yardstick


def comparison(runs: Sequence[BatchRun], headline: str, wide: bool = False) -> Drawing:
    parts: list[Drawing] = [Text(headline), Text(""), _figures(runs, wide)]
    if any(run.predictions is not None for run in runs):
        parts += [Text(""), _predictions(runs)]
    return Stack(*parts)


def _figures(runs: Sequence[BatchRun], wide: bool) -> Listing:
    fcfs = yardstick(runs)
    figures = [run.figures for run in runs]
    shares = [None if fcfs is None else one.longest_against(fcfs.figures) for one in figures]
    numbers: dict[str, Sequence[object]] = {
        "SLOWDOWN": marked([one.mean_slowdown for one in figures], "{:.2f}".format),
        "MEDIAN": marked([one.median_slowdown for one in figures], "{:.2f}".format),
        "MEAN WAIT": marked([one.mean_wait_s for one in figures], span),
        "LONGEST": marked([one.longest_wait_s for one in figures], span),
        "OF FCFS": [None if share is None else f"{share:.2f}×" for share in shares],
        "USED": [f"{one.utilisation:.1%}" for one in figures],
    }
    headers = [Header("POLICY"), Header("BACKFILL"), *(Header(title, right=True) for title in numbers)]
    columns = [[run.policy for run in runs], [run.backfill for run in runs], *numbers.values()]
    if wide:
        headers.append(Header("BY SEQUENCE"))
        columns.append([" ".join(f"{part.mean_slowdown:.2f}" for part in one.sequences) for one in figures])
    return grid(headers, zip(*columns, strict=True))


def _predictions(runs: Sequence[BatchRun]) -> Listing:
    titles = ("WAITED", "TOLD", "MEDIAN ERROR", "IN RANGE")
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
    return grid([Header("PREDICTED STARTS"), *(Header(title, right=True) for title in titles)], rows)
