"""The outcome of a simulation in comparable numbers: waits, utilisation, finished work, and work without a node.

Pure data, made once from the ledger when the run is over; `to_dict` is its JSON form. Times are virtual seconds since
the beginning, shares are of what online nodes have.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dovetail.model.resources import CORE_RESOURCES, CPU, GPU
from dovetail.model.task import WorkloadState
from dovetail.simulate.ledger import SimulationLedger, Timeline, WorkloadLife
from dovetail.simulate.measuring import MeasuredCourse, TrafficTimes


@dataclass(frozen=True, slots=True)
class Waits:
    """Of workloads, from submission until every task had a node; None where there was none."""

    count: int
    mean_s: float | None
    median_s: float | None
    p95_s: float | None
    max_s: float | None


@dataclass(frozen=True, slots=True)
class Slowdowns:
    """Bounded slowdown of the workloads that ended: time in the system by run time, of at least ten seconds."""

    count: int
    mean: float | None
    median: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class Utilisation:
    """One number over time: means of spans `span_s` long, the exact mean and the highest value."""

    mean: float
    peak: float
    span_s: float
    samples: list[float]


@dataclass(frozen=True, slots=True)
class TenantUse:
    workloads: int
    finished: int
    mean_wait_s: float | None
    shares: dict[str, float]  # of everything all tenants used, by resource


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A workload that was still short of nodes at the end."""

    namespace: str
    name: str
    pending: int
    replicas: int
    waited_s: float
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    digest: str
    ended_at_s: float
    makespan_s: float
    workloads: int
    tasks: int
    decisions: int
    states: dict[str, int]
    waits: Waits
    utilisation: dict[str, Utilisation]
    queue: Utilisation
    running: Utilisation
    still_running: int
    tenants: dict[str, TenantUse]
    refusals: dict[str, int]
    failures: dict[str, int]
    unplaced_by_reason: dict[str, int]
    unplaced: list[Unplaced]
    turned_away: list[dict[str, Any]]
    slowdowns: Slowdowns
    fairness: float | None  # Jain's index over the tenants' mean slowdowns; 1: all are slowed down alike
    preemptions: int  # of tasks
    fragmentation: Utilisation | None  # where it was measured
    traffic: TrafficTimes | None  # where it was measured
    lives: list[WorkloadLife]

    def to_dict(self, *, every_workload: bool = False) -> dict[str, Any]:
        """With rounded numbers."""
        found: dict[str, Any] = _rounded({name: getattr(self, name) for name in self.__slots__ if name != "lives"})
        if every_workload:
            found["lives"] = [_life(life) for life in self.lives]
        return found


def outcome_of(
    ledger: SimulationLedger, ended_at: float, still_running: int, digest: str, measured: MeasuredCourse | None = None
) -> SimulationOutcome:
    lives = list(ledger.lives.values())
    fragments = None if measured is None else measured.fragmentation
    finished = [life.finished_at for life in lives if life.finished_at is not None]
    last = max(finished, default=0.0) if len(finished) == len(lives) else ended_at
    unplaced = [life for life in lives if not life.state.finished and life.all_placed_at is None]
    # Core resources first, each in its place.
    names = [name for name in dict.fromkeys((*CORE_RESOURCES, *ledger.shares)) if name in ledger.shares]
    return SimulationOutcome(
        digest=digest,
        ended_at_s=ended_at,
        makespan_s=last - max(0.0, min((life.submitted_at for life in lives), default=0.0)) if lives else 0.0,
        workloads=len(lives),
        tasks=sum(life.replicas for life in lives),
        decisions=ledger.decisions,
        states=dict(Counter(str(life.state) for life in lives)),
        waits=waits_of(lives),
        utilisation={name: _use(ledger.shares[name]) for name in names},
        queue=_use(ledger.queue),
        running=_use(ledger.running),
        still_running=still_running,
        tenants=_tenants(ledger, lives),
        refusals=dict(ledger.refusals.most_common()),
        failures=_failures(lives),
        unplaced_by_reason=dict(Counter(life.reason or "not looked at yet" for life in unplaced).most_common()),
        unplaced=[_unplaced(life, ended_at) for life in unplaced],
        turned_away=[asdict(turned) for turned in ledger.turned_away],
        slowdowns=slowdowns_of(lives),
        fairness=_fairness(lives),
        preemptions=ledger.preemptions,
        fragmentation=None if fragments is None else _use(fragments),
        traffic=None if measured is None else measured.traffic,
        lives=lives,
    )


def _failures(lives: list[WorkloadLife]) -> dict[str, int]:
    """Failed workloads by what ended them, whichever task it was (`task 3: exit status 1`)."""
    found = Counter(life.message.split(": ", 1)[-1] for life in lives if life.state is WorkloadState.FAILED)
    return dict(found.most_common())


def slowdowns_of(lives: list[WorkloadLife]) -> Slowdowns:
    found = [life.slowdown for life in lives if life.slowdown is not None and _placed_here(life)]
    if not found:
        return Slowdowns(0, None, None, None)
    median, p95 = np.percentile(found, [50, 95], method="inverted_cdf").tolist()
    return Slowdowns(len(found), sum(found) / len(found), median, p95)


def _fairness(lives: list[WorkloadLife]) -> float | None:
    by_tenant: dict[str, list[WorkloadLife]] = {}
    for life in lives:
        by_tenant.setdefault(life.namespace, []).append(life)
    means = [mean for theirs in by_tenant.values() if (mean := slowdowns_of(theirs).mean) is not None]
    return sum(means) ** 2 / (len(means) * sum(mean * mean for mean in means)) if means else None


def _placed_here(life: WorkloadLife) -> bool:
    """Not before the simulation began."""
    return life.all_placed_at is not None and life.all_placed_at >= 0


def waits_of(lives: list[WorkloadLife]) -> Waits:
    waits = [life.wait_s for life in lives if life.wait_s is not None and _placed_here(life)]
    if not waits:
        return Waits(0, None, None, None, None)
    median, p95 = np.percentile(waits, [50, 95], method="inverted_cdf").tolist()
    return Waits(len(waits), sum(waits) / len(waits), median, p95, max(waits))


def _use(timeline: Timeline) -> Utilisation:
    return Utilisation(timeline.mean, timeline.peak, timeline.span_s, timeline.samples())


def _tenants(ledger: SimulationLedger, lives: list[WorkloadLife]) -> dict[str, TenantUse]:
    by_tenant: dict[str, list[WorkloadLife]] = {}
    for life in lives:
        by_tenant.setdefault(life.namespace, []).append(life)
    totals: Counter[str] = Counter()
    for used in ledger.used.values():
        totals.update(used)
    found = {}
    for tenant in sorted(by_tenant):
        theirs = by_tenant[tenant]
        used = ledger.used.get(tenant, Counter())
        found[tenant] = TenantUse(
            workloads=len(theirs),
            finished=sum(life.state.finished for life in theirs),
            mean_wait_s=waits_of(theirs).mean_s,
            shares={name: used[name] / totals[name] for name in (CPU, GPU) if totals[name]},
        )
    return found


def _unplaced(life: WorkloadLife, ended_at: float) -> Unplaced:
    return Unplaced(
        namespace=life.namespace,
        name=life.name,
        pending=life.unplaced,
        replicas=life.replicas,
        waited_s=ended_at - life.submitted_at,
        reason=life.reason or "not looked at yet",
        message=life.message,
    )


def _life(life: WorkloadLife) -> dict[str, Any]:
    found = {name: getattr(life, name) for name in life.__slots__ if name not in ("amounts", "unplaced")}
    return _rounded(found | {"state": str(life.state), "wait_s": life.wait_s})  # type: ignore[no-any-return]


def _rounded(value: Any) -> Any:
    """Plain data, with fractions to four places: enough for milliseconds and hundredths of a per cent."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    if hasattr(value, "__slots__") and not isinstance(value, str):
        return {name: _rounded(getattr(value, name)) for name in value.__slots__}
    return value
