"""Curves of several seeds as one curve with its band of confidence."""

from collections.abc import Callable, Sequence

import numpy as np

from dovetail.reports.charts import Line
from dovetail.reports.comparison import ReportRun, half_intervals
from dovetail.simulate.run_figures import Course

POINTS = 140


def cumulated(
    name: str,
    colour: int,
    runs: Sequence[ReportRun],
    points: Sequence[float],
    curve: Callable[[ReportRun], list[float]],
) -> Line | None:
    """Curves that have the same points in every run."""
    curves = [values for run in runs if (values := curve(run))]
    return _line(name, colour, points, np.array(curves), 1.0) if curves else None


def over_time(
    name: str, colour: int, runs: Sequence[ReportRun], end_s: float, course: Callable[[ReportRun], Course | None]
) -> Line | None:
    """Runs that ended before are left out from there on: nothing is known of them then."""
    times = np.linspace(0.0, end_s, POINTS)
    rows = []
    for run in runs:
        found = course(run)
        if found is not None and found["samples"]:
            place = (times / found["span_s"]).astype(int)
            samples = np.array([*found["samples"], np.nan])
            rows.append(samples[np.minimum(place, len(samples) - 1)])
    if not rows:
        return None
    table = np.array(rows)
    known = ~np.all(np.isnan(table), axis=0)
    return _line(name, colour, times[known].tolist(), table[:, known], float(np.nanmax(table)))


def end_of(runs: Sequence[ReportRun], course: Callable[[ReportRun], Course | None]) -> float:
    """When the longest of them ends."""
    found = [course(run) for run in runs]
    return max((one["span_s"] * len(one["samples"]) for one in found if one is not None), default=0.0)


def _line(
    name: str,
    colour: int,
    points: Sequence[float],
    table: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    most: float,
) -> Line:
    mean = np.nanmean(table, axis=0)
    drawn = list(zip(points, mean.tolist(), strict=True))
    if len(table) < 2:
        return Line(name, colour, drawn)
    counted = np.sum(~np.isnan(table), axis=0)
    several = np.maximum(counted, 2)
    spread = np.where(counted > 1, np.sqrt(np.nansum((table - mean) ** 2, axis=0) / (several - 1)), 0.0)
    half = half_intervals(spread, several)
    low, high = np.clip(mean - half, 0.0, most), np.clip(mean + half, 0.0, most)
    return Line(name, colour, drawn, low.tolist(), high.tolist())
