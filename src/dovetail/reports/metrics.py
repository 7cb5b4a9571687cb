"""The figures by which variants are compared: how each is called, written, and which way is better."""

from collections.abc import Callable
from dataclasses import dataclass

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86400.0


@dataclass(frozen=True, slots=True)
class Metric:
    """`key`: in `RunFigures.numbers`. `praise`: what is said of the variant that is best by it."""

    key: str
    title: str
    about: str
    written: Callable[[float], str]
    higher_is_better: bool = False
    praise: str = ""


_UNITS = ((1.0, 0.001, "ms"), (MINUTE_S, 1.0, "s"), (HOUR_S, MINUTE_S, "min"), (2 * DAY_S, HOUR_S, "h"))


def duration(seconds: float) -> str:
    """`12 ms`, `45 s`, `12 min`, `3.4 h`, `2.1 d`: up to three digits and one unit."""
    if abs(seconds) < 5e-7:
        return "0 s"
    divisor, unit = next(((by, unit) for limit, by, unit in _UNITS if abs(seconds) < limit), (DAY_S, "d"))
    return f"{number(seconds / divisor)} {unit}"


def number(value: float) -> str:
    """Three digits, and no more than needed."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if size >= 100 else f"{value:.3g}"


def rough(metric: "Metric", value: float) -> str:
    """Two digits are enough for an interval."""
    return metric.written(float(f"{value:.2g}"))


def percent(share: float) -> str:
    return f"{number(100 * share)} %"


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("mean_wait_s", "Mean wait", "from submission until every task had a node", duration, praise="waits"),
        Metric("p95_wait_s", "95 % wait", "95 of 100 workloads waited no longer", duration),
        Metric("longest_wait_s", "Longest wait", "of any workload", duration),
        Metric("mean_slowdown", "Slowdown", "(wait + run) / run, at least 10 s of run", number, praise="slowdown"),
        Metric("utilisation", "Utilisation", "mean share in use", percent, higher_is_better=True, praise="utilisation"),
        Metric(
            "fragmentation",
            "Unusable GPUs",
            "share of GPUs free but of no use to typical work",
            percent,
            praise="fragmentation",
        ),
        Metric(
            "traffic_s", "Traffic time", "of an all-reduce of 1 GiB, mean of gangs", duration, praise="traffic time"
        ),
        Metric(
            "fairness",
            "Fairness",
            "between tenants: 1 if all are slowed down alike (Jain's index)",
            number,
            higher_is_better=True,
            praise="fairness",
        ),
        Metric("preemptions", "Preemptions", "tasks stopped for others", number, praise="preemptions"),
        Metric("unplaced", "Never placed", "workloads short of nodes at the end", number),
        Metric("makespan_s", "Makespan", "from the first submission to the last end", duration),
    )
}
