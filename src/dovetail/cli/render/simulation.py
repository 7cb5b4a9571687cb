"""The outcome of a simulation: summary, waits, use over time, and work that found no node.

Several runs are shown side by side, one column for each profile, with the best value of each line marked.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from dovetail.cli.render.parts.bars import ACCENT, height
from dovetail.cli.render.parts.state import tally
from dovetail.cli.render.parts.table import Better, Header, Listing, TableColumn, and_more, grid, marked, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import span
from dovetail.model.text.listing import count
from dovetail.simulate.ledger import SimulationLedger
from dovetail.simulate.outcome import SimulationOutcome, Unplaced, Utilisation

STRIP_COLUMNS = 44
UNPLACED_SHOWN = 10
KINDS_SHOWN = 3
_HIDDEN_WHEN_UNUSED = ("disk", "slots", "gpu")
_WHOLE, _SHARE = "{:.0f}".format, "{:.0%}".format
_UNPLACED: list[TableColumn[Unplaced]] = [
    TableColumn("NAME", lambda one: f"{one.namespace}/{one.name}"),
    TableColumn("WAITING", lambda one: f"{one.pending}/{one.replicas}", right=True),
    TableColumn("FOR", lambda one: span(one.waited_s), right=True),
    TableColumn("WHY", lambda one: one.message or one.reason, folds=True),
]


class SimulationRun(NamedTuple):
    """`measured`: more was looked at than waits and use, and is shown."""

    profile: str
    outcome: SimulationOutcome
    measured: bool = False


def simulation(runs: Sequence[SimulationRun], wide: bool = False) -> Drawing:
    return _one(runs[0], wide) if len(runs) == 1 else _side_by_side(runs, wide)


def _one(run: SimulationRun, wide: bool) -> Drawing:
    outcome = run.outcome
    parts: list[Drawing] = [Text(headline(outcome)), Text(_waits(outcome))]
    parts += [Text(_quality(outcome))] if run.measured else []
    parts += [Text(""), _course(outcome)]
    if len(outcome.tenants) > 1:
        parts += [Text(""), _tenants(outcome)]
    return Stack(*parts, *_trouble(outcome, wide))


def progress(now: float, ledger: SimulationLedger) -> str:
    ended = len(ledger.lives) - ledger.live
    return f"{span(now)} played, {ended} of {len(ledger.lives)} workloads ended, {ledger.waiting} tasks wait"


def headline(outcome: SimulationOutcome) -> str:
    tasks = count(outcome.tasks, "task")
    states = tally(dict(outcome.states)) or "none of them accepted"
    return f"{count(outcome.workloads, 'workload')} with {tasks} in {span(outcome.ended_at_s)}: {states}"


def _waits(outcome: SimulationOutcome) -> str:
    waits = outcome.waits
    if not waits.count:
        return "no workload found nodes for all its tasks"
    figures = f"mean {span(waits.mean_s)}, median {span(waits.median_s)}, 95% within {span(waits.p95_s)}"
    return f"wait for a node: {figures}, longest {span(waits.max_s)}; makespan {span(outcome.makespan_s)}"


def _quality(outcome: SimulationOutcome) -> str:
    """Slowdown, fairness, preemptions, fragmentation and traffic, as far as there is something to say."""
    parts = [count(outcome.preemptions, "preemption")]
    if outcome.slowdowns.mean is not None and outcome.slowdowns.p95 is not None:
        parts.insert(0, f"slowdown mean {outcome.slowdowns.mean:.2f}, 95% within {outcome.slowdowns.p95:.2f}")
    if outcome.fairness is not None and len(outcome.tenants) > 1:
        parts.append(f"fairness {outcome.fairness:.2f}")
    if outcome.fragmentation is not None:
        parts.append(f"{outcome.fragmentation.mean:.1%} of GPUs free and of no use")
    if outcome.traffic is not None:
        best = outcome.traffic.times_best
        parts.append(f"all-reduce {outcome.traffic.all_reduce_s * 1000:.3g} ms, {best:.2f} × the best possible")
    return "; ".join(parts)


# --- over time ---------------------------------------------------------------------------------------------------


def strip(use: Utilisation, most: float, columns: int = STRIP_COLUMNS) -> Text:
    """A number over time as a row of blocks, full height at `most`; 0 is blank."""
    shares = [value / most if most else 0.0 for value in squeezed(use.samples, columns)]
    return Text("".join(height(share) if share > 0 else " " for share in shares), style=ACCENT)


def squeezed(samples: Sequence[float], columns: int) -> list[float]:
    """The values as means, at most one for each column."""
    if len(samples) <= columns:
        return list(samples)
    edges = [round(index * len(samples) / columns) for index in range(columns + 1)]
    return [sum(samples[a:b]) / (b - a) for a, b in pairwise(edges)]


def _course(outcome: SimulationOutcome) -> Listing:
    """Shares are drawn against full, counts against their own highest."""
    over = Header(f"OVER {span(outcome.ended_at_s).upper()}")
    rows: list[list[object]] = [
        [name, f"{use.mean:.0%}", f"{use.peak:.0%}", strip(use, 1.0)]
        for name, use in outcome.utilisation.items()
        if use.peak or name not in _HIDDEN_WHEN_UNUSED
    ]
    for name, use in (("tasks running", outcome.running), ("tasks waiting", outcome.queue)):
        rows.append([name, f"{use.mean:.1f}", f"{use.peak:.0f}", strip(use, use.peak)])
    return grid((Header(), Header("MEAN", right=True), Header("PEAK", right=True), over), rows)


def _tenants(outcome: SimulationOutcome) -> Listing:
    titles = ("WORKLOADS", "ENDED", "MEAN WAIT", "CPU SHARE", "GPU SHARE")
    rows = [
        [
            name,
            tenant.workloads,
            tenant.finished,
            span(tenant.mean_wait_s),
            *(f"{tenant.shares[resource]:.0%}" if resource in tenant.shares else "-" for resource in ("cpu", "gpu")),
        ]
        for name, tenant in outcome.tenants.items()
    ]
    return grid([Header("TENANT"), *(Header(title, right=True) for title in titles)], rows)


# --- what went wrong ---------------------------------------------------------------------------------------------


def _trouble(outcome: SimulationOutcome, wide: bool) -> list[Drawing]:
    parts: list[Drawing] = []
    if outcome.failures:
        kinds = list(outcome.failures.items())
        told = kinds if wide else kinds[:KINDS_SHOWN]
        listed = "; ".join(f"{number} with {why}" for why, number in told)
        parts += [Text(""), Text(f"{count(outcome.states['failed'], 'workload')} failed: {listed}")]
        parts += and_more(len(kinds) - len(told), "kind of failure", plural="kinds of failure")
    if outcome.unplaced:
        total = sum(outcome.unplaced_by_reason.values())
        reasons = _reasons(outcome)
        head = f"{count(total, 'workload')} still short of nodes at the end: {reasons}"
        shown = outcome.unplaced if wide else outcome.unplaced[:UNPLACED_SHOWN]
        parts += [Text(""), Text(head, style="bold"), table(_UNPLACED, shown, wide)]
        parts += and_more(total - len(shown), "workload")
    if outcome.turned_away:
        parts += [Text(""), Text(f"{count(len(outcome.turned_away), 'workload')} turned away:", style="bold")]
        away = outcome.turned_away if wide else outcome.turned_away[:KINDS_SHOWN]
        parts += [Text(f"  {one['namespace']}/{one['name']}: {one['message']}") for one in away]
        parts += and_more(len(outcome.turned_away) - len(away), "workload")
    return parts


def _reasons(outcome: SimulationOutcome) -> str:
    """`3 insufficient resources, 1 over quota`."""
    found = outcome.unplaced_by_reason.items()
    return ", ".join(f"{number} {reason.replace('_', ' ')}" for reason, number in found)


# --- side by side ------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    name: str
    value: Callable[[SimulationOutcome], float | None]
    shown: Callable[[float], str]
    better: Better | None = None  # of several values; None: none is


_QUALITY = [
    _Line("mean slowdown", lambda o: o.slowdowns.mean, "{:.2f}".format, min),
    _Line("95% slowdown", lambda o: o.slowdowns.p95, "{:.2f}".format, min),
    _Line("fairness", lambda o: o.fairness, "{:.3f}".format, max),
    _Line("preemptions", lambda o: o.preemptions, _WHOLE, min),
    _Line("GPUs fragmented", lambda o: None if o.fragmentation is None else o.fragmentation.mean, "{:.1%}".format, min),
    _Line("traffic ms", lambda o: None if o.traffic is None else o.traffic.all_reduce_s * 1000, "{:.3g}".format, min),
]


def _lines(runs: Sequence[SimulationRun]) -> list[_Line]:
    found = [
        _Line("ended", lambda o: sum(o.states.get(s, 0) for s in ("succeeded", "failed", "cancelled")), _WHOLE, max),
        _Line("failed", lambda o: o.states.get("failed", 0), _WHOLE, min),
        _Line("short of nodes", lambda o: sum(o.unplaced_by_reason.values()), _WHOLE, min),
        _Line("mean wait", lambda o: o.waits.mean_s, span, min),
        _Line("median wait", lambda o: o.waits.median_s, span, min),
        _Line("95% wait", lambda o: o.waits.p95_s, span, min),
        _Line("longest wait", lambda o: o.waits.max_s, span, min),
        _Line("makespan", lambda o: o.makespan_s, span, min),
        _Line("mean queue", lambda o: o.queue.mean, "{:.1f}".format, min),
    ]
    if runs[0].measured:
        found += _QUALITY
    for name, use in runs[0].outcome.utilisation.items():
        if use.peak and name != "slots":
            found.append(_Line(f"{name} used", lambda o, name=name: o.utilisation[name].mean, _SHARE))  # type: ignore[misc]
            found.append(_Line(f"{name} peak", lambda o, name=name: o.utilisation[name].peak, _SHARE))  # type: ignore[misc]
    return [*found, _Line("decisions", lambda o: o.decisions, _WHOLE)]


def _side_by_side(runs: Sequence[SimulationRun], wide: bool) -> Drawing:
    first = runs[0].outcome
    head = Text(f"{count(first.workloads, 'workload')} with {count(first.tasks, 'task')}, {len(runs)} profiles")
    rows = [
        [line.name, *marked([line.value(run.outcome) for run in runs], line.shown, line.better)]
        for line in _lines(runs)
    ]
    headers = [Header(), *(Header(run.profile, right=True) for run in runs)]
    parts: list[Drawing] = [head, Text(""), grid(headers, rows)]
    busiest = max(first.utilisation, key=lambda name: first.utilisation[name].mean, default=None)
    if busiest is not None:
        peak = max(run.outcome.queue.peak for run in runs)
        title = f"{busiest} over {span(first.ended_at_s)}"
        course: list[TableColumn[SimulationRun]] = [
            TableColumn("", lambda run: run.profile),
            TableColumn(title, lambda run: strip(run.outcome.utilisation[busiest], 1.0, 30)),
            TableColumn("tasks waiting", lambda run: strip(run.outcome.queue, peak, 30)),
        ]
        parts += [Text(""), table(course, runs, wide)]
    return Stack(*parts, *_short_of_nodes(runs))


def _short_of_nodes(runs: Sequence[SimulationRun]) -> list[Text]:
    """Why work found no node, once for all profiles with the same reason."""
    alike: dict[str, list[str]] = {}
    for run in runs:
        reasons = _reasons(run.outcome)
        if reasons:
            alike.setdefault(reasons, []).append(run.profile)
    if len(alike) == 1 and len(runs) > 1:
        return [Text(""), Text(f"short of nodes: {next(iter(alike))}")]
    return [Text(f"short of nodes with {', '.join(names)}: {reasons}") for reasons, names in alike.items()]
