"""A sweep: the answer in words, a row a variant, and how far it is."""

from dovetail.cli.render.parts.bars import bar
from dovetail.cli.render.parts.table import Header, grid
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span
from dovetail.reports.comparison import MeanOverSeeds, VariantComparison
from dovetail.reports.metrics import Metric, rough
from dovetail.reports.sentences import answer

SHOWN = ("mean_wait_s", "mean_slowdown", "utilisation", "fragmentation", "fairness", "preemptions")
BAR_COLUMNS = 24
SIDE_BY_SIDE = 4  # variants as columns; more of them are rows


def sweep(comparison: VariantComparison, about: str, wide: bool = False) -> Drawing:
    """`wide`: every figure."""
    metrics = [metric for metric in comparison.metrics if wide or metric.key in SHOWN]
    table = [[_cell(metric, comparison.means[metric.key].get(v)) for metric in metrics] for v in comparison.variants]
    if len(comparison.variants) <= SIDE_BY_SIDE:
        headers = [Header(), *(Header(variant, right=True) for variant in comparison.variants)]
        rows = [[metric.title.lower(), *cells] for metric, *cells in zip(metrics, *table, strict=True)]
    else:
        headers = [Header("VARIANT"), *(Header(metric.title.upper(), right=True) for metric in metrics)]
        rows = [[variant, *cells] for variant, cells in zip(comparison.variants, table, strict=True)]
    parts: list[Drawing] = [Text(about), Text(answer(comparison)), Text(""), grid(headers, rows)]
    if any(one.leads for means in comparison.means.values() for one in means.values()):
        parts += [Text(""), Text("* best, or not distinguishable from the best; ± 95 % confidence over seeds")]
    return Stack(*parts)


def progress(done: int, cases: int, left_s: float | None) -> str:
    left = f", about {span(left_s)} left" if left_s is not None and done < cases else ""
    return f"{bar(done / cases, BAR_COLUMNS, track=True).plain} {done} of {cases} cases{left}"


def _cell(metric: Metric, one: MeanOverSeeds | None) -> str:
    if one is None:
        return "-"
    about = "" if one.plus_minus is None else f" ± {rough(metric, one.plus_minus)}"
    return f"{'*' if one.leads else ''}{metric.written(one.mean)}{about}"
