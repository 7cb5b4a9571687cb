"""The report of several runs: the answer, the table of figures, and a chart for each question people ask.

At most ten variants are drawn, those with the shortest mean waits; the table has all of them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape

from dovetail.model.text.listing import count
from dovetail.reports.averages import cumulated, end_of, over_time
from dovetail.reports.axes import Axis, log_axis, log_time_axis, share_axis, time_axis
from dovetail.reports.charts import COLOURS, Bar, Line, bars, dots, lines
from dovetail.reports.comparison import ReportRun, VariantComparison, compare
from dovetail.reports.metrics import METRICS, rough
from dovetail.reports.page import Panel, cell, empty, key, page, table
from dovetail.reports.sentences import answer
from dovetail.simulate.run_figures import SLOWDOWN_POINTS, WAIT_POINTS_S, Course

MOST_TENANTS = 12
ONE_SEED = "One seed: no confidence can be given. Run more seeds to tell differences from chance."
_FULL = 0.999  # of a curve: behind that there is nothing to see


def sweep_report(title: str, runs: Sequence[ReportRun], about: str = "", notes: Sequence[str] = ()) -> str:
    """One HTML page. `about`: where the runs come from."""
    comparison = compare(runs)
    said = answer(comparison)
    return page(title, _subtitle(comparison, runs, about), said, _panels(comparison, runs), notes)


def day_report(
    title: str, subtitle: str, said: str, runs: Sequence[ReportRun], more: Sequence[Panel], notes: Sequence[str]
) -> str:
    """The same for one day in several versions: the caller says what is to be said, and `more` comes at the end."""
    panels = _panels(compare(runs), runs, "One day, so there is no confidence over seeds.")
    return page(title, subtitle, said, [*panels, *more], notes)


def _subtitle(comparison: VariantComparison, runs: Sequence[ReportRun], about: str) -> str:
    workloads = round(sum(run.figures["workloads"] for run in runs) / len(runs))
    variants = count(len(comparison.variants), "variant")
    seeds = count(len(comparison.seeds), "seed")
    said = f"{variants}, {seeds} each, {count(workloads, 'workload')} a run."
    return f"{about} {said}" if about else said


def _panels(comparison: VariantComparison, runs: Sequence[ReportRun], alone: str = ONE_SEED) -> list[Panel]:
    drawn = _drawn(comparison)
    by_variant = {variant: [run for run in runs if run.variant == variant] for variant in drawn}
    charts = Charts(comparison, by_variant)
    found = [_figures(comparison, drawn, alone), charts.waits(), charts.slowdowns(), charts.utilisation()]
    found += [
        charts.fragmentation(),
        charts.bars("traffic_s", "No work of these runs exchanged data over several nodes."),
    ]
    return [
        *found,
        charts.fairness(),
        charts.bars("preemptions", "Nothing was preempted in these runs."),
        _words(comparison),
    ]


def _drawn(comparison: VariantComparison) -> list[str]:
    if len(comparison.variants) <= COLOURS:
        return list(comparison.variants)
    waits = comparison.means.get("mean_wait_s", {})
    best = sorted(comparison.variants, key=lambda variant: waits[variant].mean if variant in waits else float("inf"))
    return [variant for variant in comparison.variants if variant in best[:COLOURS]]


def _figures(comparison: VariantComparison, drawn: Sequence[str], alone: str) -> Panel:
    headers = [("Variant", ""), *((metric.title, "num") for metric in comparison.metrics)]
    rows = []
    for variant in comparison.variants:
        mark = drawn.index(variant) if variant in drawn else None
        row = [cell(variant, mark=mark)]
        for metric in comparison.metrics:
            one = comparison.means[metric.key].get(variant)
            if one is None:
                row.append(cell("–", "num"))
                continue
            less = "" if one.plus_minus is None else f"± {rough(metric, one.plus_minus)}"
            row.append(
                cell(("✓ " if one.leads else "") + metric.written(one.mean), "num lead" if one.leads else "num", less)
            )
        rows.append(row)
    said = (
        "Mean over seeds ± 95 % confidence. ✓ best, or not distinguishable from the best (paired t-test by seed, Holm)."
    )
    if len(comparison.seeds) == 1:
        said = alone
    return Panel("Figures", said, table(headers, rows), whole=True)


class Charts:
    """Panels with charts of variants, each in its colour."""

    def __init__(self, comparison: VariantComparison, by_variant: dict[str, list[ReportRun]]) -> None:
        self._comparison, self._by_variant = comparison, by_variant
        self._colour = {variant: index for index, variant in enumerate(by_variant)}
        self._all = [run for runs in by_variant.values() for run in runs]
        self._key = key(list(self._colour.items()))

    def waits(self) -> Panel:
        found = self._curves(WAIT_POINTS_S, lambda run: run.figures["waits"])
        about = "Share of all workloads that had all their nodes within this time; higher is better."
        return self._panel("Wait", about, found, log_time_axis(_end(found, 60.0)))

    def slowdowns(self) -> Panel:
        found = self._curves(SLOWDOWN_POINTS, lambda run: run.figures["slowdowns"])
        about = "Share of workloads that took at most so many times their run time; higher is better."
        return self._panel("Slowdown", about, found, log_axis(_end(found, 2.0)))

    def utilisation(self) -> Panel:
        resource = self._all[0].figures["resource"].upper()
        about = f"{resource} that tasks hold, as a share of what online nodes have."
        return self._course("Utilisation over time", about, lambda run: run.figures["utilisation"])

    def fragmentation(self) -> Panel:
        about = "Share of all GPUs that is free but of no use to typical work; lower is better."
        none = "The cluster of these runs has no GPUs, so none can become unusable."
        return self._course("Fragmentation over time", about, lambda run: run.figures["fragmentation"], none)

    def bars(self, metric: str, none: str) -> Panel:
        named, means = METRICS[metric], self._comparison.means.get(metric, {})
        about = (
            f"{named.about[0].upper()}{named.about[1:]}; {'higher' if named.higher_is_better else 'lower'} is better."
        )
        if not means or not any(one.mean for one in means.values()):
            return Panel(named.title, about, empty(none))
        rows = [
            Bar(variant, colour, means[variant].mean, means[variant].plus_minus)
            for variant, colour in self._colour.items()
            if variant in means
        ]
        return Panel(named.title, about, bars(named.title, rows, named.written, partial(rough, named)))

    def fairness(self) -> Panel:
        """Tenants with most work first."""
        counted: dict[str, int] = {}
        for run in self._all:
            for tenant, one in run.figures["tenants"].items():
                counted[tenant] = counted.get(tenant, 0) + one["workloads"]
        tenants = sorted(counted, key=lambda tenant: (-counted[tenant], tenant))[:MOST_TENANTS]
        groups = [(tenant, found) for tenant in tenants if (found := self._tenant(tenant))]
        about = "Mean slowdown of each tenant; the nearer its dots to those of the others, the fairer."
        if len(groups) < 2:
            return Panel("Fairness between tenants", about, empty("Only one tenant had work in these runs."))
        highest = max(bar.value for _, row in groups for bar in row)
        body = dots("Mean slowdown by tenant", groups, log_axis(max(highest * 1.05, 2.0)))
        return Panel("Fairness between tenants", about, body + self._key)

    def _tenant(self, tenant: str) -> list[Bar]:
        found = []
        for variant, runs in self._by_variant.items():
            values = [one["mean_slowdown"] for run in runs if (one := run.figures["tenants"].get(tenant)) is not None]
            known = [value for value in values if value is not None]
            if known:
                found.append(Bar(variant, self._colour[variant], sum(known) / len(known)))
        return found

    def _curves(self, points: Sequence[float], curve: Callable[[ReportRun], list[float]]) -> list[Line]:
        found = (cumulated(name, self._colour[name], runs, points, curve) for name, runs in self._by_variant.items())
        return [line for line in found if line is not None]

    def _course(
        self, title: str, about: str, course: Callable[[ReportRun], Course | None], none: str = "Nothing was recorded."
    ) -> Panel:
        end_s = end_of(self._all, course)
        made = (over_time(name, self._colour[name], runs, end_s, course) for name, runs in self._by_variant.items())
        found = [line for line in made if line is not None]
        if not found or not any(value for line in found for _, value in line.points):
            return Panel(title, about, empty(none))
        highest = max(value for line in found for value in (*line.high, *(y for _, y in line.points)))
        body = lines(title, time_axis(end_s), share_axis(highest), found)
        return Panel(title, about, body + self._key)

    def _panel(self, title: str, about: str, found: Sequence[Line], x: Axis) -> Panel:
        if not found:
            return Panel(title, about, empty("No workload came that far."))
        return Panel(title, about, lines(title, x, share_axis(1.0), found) + self._key)


def _end(found: Sequence[Line], least: float) -> float:
    """Where every curve is as high as it gets."""
    end = least
    for line in found:
        top = line.points[-1][1]
        end = max(end, next((x for x, y in line.points if y >= top * _FULL), least))
    return end * 1.5


def _words(comparison: VariantComparison) -> Panel:
    terms = "".join(f"<dt>{escape(m.title)}</dt><dd>{escape(m.about)}</dd>" for m in comparison.metrics)
    return Panel("What the figures mean", "All times are of the simulated clock.", f"<dl>{terms}</dl>")
