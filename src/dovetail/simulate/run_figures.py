"""The figures of one run by which runs are compared: waits, slowdown, use, fragmentation, traffic time, fairness.

    slowdown       (wait + run) / max(run, 10 s), at least 1, of workloads that ended
    fragmentation  share of all GPUs that is free, and that typical work cannot use
    traffic time   of an all-reduce of 1 GiB, for gangs on several nodes of a described network
    fairness       Jain's index of the tenants' mean slowdown: 1 if all are equal, 1/n if one has all the delay

Guarantees: plain data that JSON keeps to the bit, so that a run elsewhere gives the same figures. A figure that does
not apply is None, never 0. Curves of all runs have the same points, so that they can be averaged.
Left to others: several runs together (`reports`), and running them (`sweeps`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

import numpy as np

from dovetail.model.resources import CPU, GPU
from dovetail.simulate.ledger import SHORTEST_RUN_S, Timeline
from dovetail.simulate.outcome import SimulationOutcome
from dovetail.simulate.swf import BatchJob

#: Where cumulated shares are taken: seconds of a wait, and multiples of a run time.
WAIT_POINTS_S = (0.0, *(float(f"{point:.6g}") for point in np.logspace(0, 6, 61)))
SLOWDOWN_POINTS = tuple(float(f"{point:.6g}") for point in np.logspace(0, 4, 61))
FEWEST_JOBS = 5  # of a user, for a mean that says something
DIGITS = 9


class Course(TypedDict):
    """A number over time: means of spans `span_s` long."""

    span_s: float
    samples: list[float]


class TenantFigures(TypedDict):
    workloads: int
    mean_wait_s: float | None
    mean_slowdown: float | None


class RunFigures(TypedDict):
    """`numbers`: by name, see the module. `waits`: share of all workloads that had started after `WAIT_POINTS_S`;
    `slowdowns`: share of those that ended whose slowdown was at most `SLOWDOWN_POINTS`."""

    digest: str
    workloads: int
    numbers: dict[str, float | None]
    waits: list[float]
    slowdowns: list[float]
    utilisation: Course | None
    fragmentation: Course | None
    resource: str
    tenants: dict[str, TenantFigures]


def figures_of_simulation(outcome: SimulationOutcome) -> RunFigures:
    """Of one simulation that was `measured`."""
    resource = GPU if GPU in outcome.utilisation and outcome.utilisation[GPU].peak else CPU
    use, unusable = outcome.utilisation.get(resource), outcome.fragmentation
    delays = [
        Delay(life.namespace, life.wait_s, life.slowdown)
        for life in outcome.lives
        if life.wait_s is not None and life.slowdown is not None
    ]
    return _figures(
        digest=outcome.digest,
        workloads=outcome.workloads,
        waits=[life.wait_s for life in outcome.lives if life.wait_s is not None],
        delays=delays,
        utilisation=None if use is None else (use.mean, _course(use.span_s, use.samples)),
        resource=resource,
        more={
            "makespan_s": outcome.makespan_s,
            "unplaced": float(len(outcome.unplaced)),
            "fragmentation": None if unusable is None else unusable.mean,
            "traffic_s": None if outcome.traffic is None else outcome.traffic.all_reduce_s,
            "preemptions": float(outcome.preemptions),
        },
        fragmentation=None if unusable is None else _course(unusable.span_s, unusable.samples),
    )


class Delay(NamedTuple):
    tenant: str
    wait_s: float
    slowdown: float


def bounded_slowdown(wait_s: float, run_s: float) -> float:
    return max(1.0, (wait_s + run_s) / max(run_s, SHORTEST_RUN_S))


@dataclass(slots=True)
class _Processors:
    """How many processors are busy over time."""

    total: int
    changes: list[tuple[float, int]] = field(default_factory=list)

    def course(self, begin: float) -> tuple[float, Course]:
        line, busy = Timeline(), 0
        for at, change in sorted(self.changes):
            busy += change
            line.set(busy / self.total, at - begin)
        return line.mean, _course(line.span_s, line.samples())


def figures_of_batch(
    played: Sequence[tuple[Sequence[BatchJob], Sequence[float]]], processors: int, digest: str
) -> RunFigures:
    """Of sequences of jobs and when each of them started. Use over time is that of the first sequence; all of them
    count for its mean."""
    waits, delays, use, ends = [], [], [], []
    for jobs, starts in played:
        busy = _Processors(processors)
        for job, start in zip(jobs, starts, strict=True):
            wait_s = start - job.submit_s
            waits.append(wait_s)
            delays.append(Delay(job.user or "unknown", wait_s, bounded_slowdown(wait_s, job.run_s)))
            busy.changes += [(start, job.processors), (start + job.run_s, -job.processors)]
        use.append(busy.course(min(job.submit_s for job in jobs)))
        ends.append(max(s + job.run_s for job, s in zip(jobs, starts, strict=True)) - jobs[0].submit_s)
    return _figures(
        digest=digest,
        workloads=len(waits),
        waits=waits,
        delays=delays,
        utilisation=(float(np.mean([mean for mean, _ in use])), use[0][1]),
        resource=CPU,
        more={"makespan_s": float(np.mean(ends)), "longest_wait_s": max(waits)},
        fragmentation=None,
        fewest=FEWEST_JOBS,
    )


def _figures(
    *,
    digest: str,
    workloads: int,
    waits: Sequence[float],
    delays: Sequence[Delay],
    utilisation: tuple[float, Course] | None,
    resource: str,
    more: Mapping[str, float | None],
    fragmentation: Course | None,
    fewest: int = 1,
) -> RunFigures:
    slowdowns = [delay.slowdown for delay in delays]
    tenants = _tenants(delays, fewest)
    numbers: dict[str, float | None] = {
        "mean_wait_s": _mean(waits),
        "p95_wait_s": float(np.percentile(waits, 95, method="inverted_cdf")) if waits else None,
        "mean_slowdown": _mean(slowdowns),
        "utilisation": None if utilisation is None else utilisation[0],
        "fairness": jain_index([one["mean_slowdown"] or 0.0 for one in tenants.values()]),
        **more,
    }
    return {
        "digest": digest,
        "workloads": workloads,
        "numbers": {name: _rounded(value) for name, value in numbers.items()},
        "waits": _cumulated(waits, WAIT_POINTS_S, workloads),
        "slowdowns": _cumulated(slowdowns, SLOWDOWN_POINTS, len(slowdowns)),
        "utilisation": None if utilisation is None else utilisation[1],
        "fragmentation": fragmentation,
        "resource": resource,
        "tenants": tenants,
    }


def jain_index(values: Sequence[float]) -> float | None:
    """None for fewer than two: then there is nothing to be fair between."""
    if len(values) < 2 or not any(values):
        return None
    return float(sum(values) ** 2 / (len(values) * sum(value**2 for value in values)))


def _tenants(delays: Iterable[Delay], fewest: int) -> dict[str, TenantFigures]:
    by_tenant: dict[str, list[Delay]] = {}
    for delay in delays:
        by_tenant.setdefault(delay.tenant, []).append(delay)
    return {
        tenant: {
            "workloads": len(theirs),
            "mean_wait_s": _rounded(_mean([delay.wait_s for delay in theirs])),
            "mean_slowdown": _rounded(_mean([delay.slowdown for delay in theirs])),
        }
        for tenant, theirs in sorted(by_tenant.items())
        if len(theirs) >= fewest
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _cumulated(values: Sequence[float], points: Sequence[float], of: int) -> list[float]:
    if not of:
        return []
    found = np.searchsorted(np.sort(np.asarray(values, dtype=np.float64)), points, side="right") / of
    return [_digits(share) for share in found.tolist()]


def _course(span_s: float, samples: Sequence[float]) -> Course:
    return {"span_s": span_s, "samples": [_digits(sample) for sample in samples]}


def _rounded(value: float | None) -> float | None:
    return None if value is None else _digits(value)


def _digits(value: float) -> float:
    """Sums of many numbers may differ in the last digits from machine to machine; nobody needs those."""
    return float(f"{value:.{DIGITS}g}")
