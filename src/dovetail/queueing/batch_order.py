"""The formula of the `batch` order: short and small work first, without starvation, whole-cluster work in quiet hours.

A key is 2 ln(run time) + ln(share) minus an age term. The age term grows slowly at first and steeply as the wait
approaches its limit, a multiple of the longest wait under first come, first served (`fcfs_simulation`). The limit is
for the few that would starve. If many wait long, as under overload, serving them first makes everybody wait: then the
limit grows with their number, up to `MOST_RELAXED` times. Work that needs the whole cluster delays everything that
arrives meanwhile, so its age counts sooner in hours with few short arrivals and later in busy hours; the pattern is
learned. Guarantees: smaller keys go first; only the past is used; the state is 50 numbers. The limit is where age
outweighs size: waits may exceed it.
Work that fits may have to wait for the sake of short work: long work leaves a small share free while first come, first
served would make work wait, and any work is held back until the next end if arrivals would profit (`short_work`).
Nothing is held back beyond its limit, or where work rarely has to wait anyway.
Left to others: ties (order of submission), backfilling, expected run times (`run_times`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dovetail.queueing.fcfs_simulation import FcfsSimulation
from dovetail.queueing.short_work import SHORTEST_S, TOLERANCE, FadingSums, ShortWork, run_s_of, urgency
from dovetail.queueing.sorted_entries import QueueEntry

Floats = NDArray[np.float64]

WAIT_LIMIT_FACTOR = 2.55
"""The wait limit as a multiple of the longest FCFS wait: there age outweighs any size."""
LONG_WAIT = 0.4
"""A wait of more than this part of the limit is long."""
FEW = 10
"""With more long waits than this, the limit grows in proportion to their number."""
MOST_RELAXED = 8.0
"""The limit grows to at most so many times its usual value."""
STEEPNESS = 5.0
WEIGHT = 16.0
"""The weight of age at the limit: ln of the ratio between the largest and smallest run time² × share."""
FREE_SHARE = 0.02
"""The share of the cluster that long work leaves free for short work. Work that needs more than the rest counts as
needing the whole cluster."""
RARELY = 0.01
"""If less than this share of the work has to wait under first come, first served, nothing is held back."""
SMALLEST_SHARE = 1e-6
"""Floor for logarithms."""
HOUR_S = 3_600.0
HOURS = 24
DAY_S = HOUR_S * HOURS
UNSEEN_S = 0.3 * HOUR_S
"""Every hour starts with this much time at the mean rate, so that an hour never seen counts as average."""


@dataclass(slots=True)
class BatchOrder:
    """`now` must never decrease. Deterministic."""

    wait_limit_factor: float = WAIT_LIMIT_FACTOR
    _urgency: Floats = field(default_factory=lambda: np.zeros(HOURS))
    """By hour of the day: the sum of 1 / run time of arrivals, which is the slowdown that one second of delay costs."""
    _seen_s: Floats = field(default_factory=lambda: np.zeros(HOURS))
    _seen_until: float | None = None
    _logs: FadingSums = field(default_factory=lambda: FadingSums(np.zeros(2)))
    """The sum of ln(run time) of arrivals and their number."""

    def arrived(self, now: float, expected_s: float) -> None:
        self._count_time(now)
        self._urgency[_hour(now)] += urgency(expected_s)
        self._logs.fade(now)
        self._logs.sums += (np.log(max(expected_s, 1.0)), 1.0)

    def keys(
        self, now: float, submitted_at: Floats, expected_s: Floats, share: Floats, longest_wait_s: float
    ) -> Floats:
        """One key for each task; smaller goes first. `longest_wait_s` is the longest FCFS wait so far."""
        self._count_time(now)
        size = 2.0 * np.log(np.maximum(expected_s, SHORTEST_S)) + np.log(np.maximum(share, SMALLEST_SHARE))
        waits_s = now - submitted_at
        age = waits_s / self.wait_limit_s(longest_wait_s, waits_s)
        power = np.full(len(age), STEEPNESS)
        whole = share > 1.0 - FREE_SHARE + TOLERANCE
        if whole.any():
            power[whole] *= self._busyness(now, np.maximum(expected_s[whole], 1.0))
        worth = np.where(age < 1.0, np.minimum(age, 1.0) ** power, age)
        return np.asarray(size - WEIGHT * worth, dtype=np.float64)

    def wait_limit_s(self, longest_wait_s: float, waits_s: Floats) -> float:
        """`waits_s` of all pending tasks."""
        limit_s = self.wait_limit_factor * longest_wait_s + 1.0
        long_waits = int(np.count_nonzero(waits_s > LONG_WAIT * limit_s))
        return limit_s * min(MOST_RELAXED, max(1.0, long_waits / FEW))

    def needed_share(self, expected_s: Floats, share: Floats) -> Floats:
        """The share that must be free for a task to start. Long work needs `FREE_SHARE` more, if possible."""
        return np.where(expected_s > self.usual_s, np.minimum(1.0, share + FREE_SHARE), share)

    @property
    def usual_s(self) -> float:
        """The geometric mean of run times. Old arrivals fade, so it follows the work both up and down."""
        log_sum, count = self._logs.sums
        return float(np.exp(log_sum / count)) if count > 0.0 else 1.0

    def to_json(self) -> dict[str, Any]:
        return {
            "urgency": self._urgency.tolist(),
            "seen_s": self._seen_s.tolist(),
            "seen_until": self._seen_until,
            "logs": self._logs.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "BatchOrder":
        return cls(
            _urgency=np.array(data["urgency"], dtype=np.float64),
            _seen_s=np.array(data["seen_s"], dtype=np.float64),
            _seen_until=data["seen_until"],
            _logs=FadingSums.from_json(data["logs"]),
        )

    def _busyness(self, now: float, run_s: Floats) -> Floats:
        """The slowdown that a full cluster causes to arrivals from now on, relative to the average (1)."""
        mean = float(self._urgency.sum()) / max(float(self._seen_s.sum()), HOUR_S)
        if mean == 0.0:
            return np.ones(len(run_s))
        rate = (self._urgency + mean * UNSEEN_S) / (self._seen_s + UNSEEN_S)
        begins_s = np.full(len(run_s), now % DAY_S)
        once, twice = _integrals(rate, begins_s)
        _, twice_at_end = _integrals(rate, begins_s + run_s)
        caused = twice_at_end - twice - run_s * once
        return np.asarray(np.maximum(caused, 0.0) / (mean * run_s**2 / 2.0), dtype=np.float64)

    def _count_time(self, now: float) -> None:
        """Add the time that passed to its hours of the day."""
        since = now if self._seen_until is None else self._seen_until
        self._seen_until = now
        days, rest_s = divmod(max(0.0, now - since), DAY_S)
        self._seen_s += days * HOUR_S
        at = since
        while rest_s > 0.0:
            passed_s = min(rest_s, HOUR_S - at % HOUR_S)
            self._seen_s[_hour(at)] += passed_s
            at += passed_s
            rest_s -= passed_s


def _hour(at: float) -> int:
    return int(at // HOUR_S) % HOURS


def _integrals(rate: Floats, until_s: Floats) -> tuple[Floats, Floats]:
    """The daily pattern of the hourly rate, integrated once and twice from midnight."""
    once = np.concatenate(([0.0], np.cumsum(rate * HOUR_S)))
    twice = np.concatenate(([0.0], np.cumsum(once[:-1] * HOUR_S + rate * HOUR_S**2 / 2.0)))
    days, rest_s = np.divmod(until_s, DAY_S)
    hour = np.minimum((rest_s // HOUR_S).astype(np.int64), HOURS - 1)
    into_s = rest_s - hour * HOUR_S
    once_today = once[hour] + rate[hour] * into_s
    twice_today = twice[hour] + once[hour] * into_s + rate[hour] * into_s**2 / 2.0
    a_day, days_before = once[-1], DAY_S * days * (days - 1.0) / 2.0
    return days * a_day + once_today, a_day * days_before + days * twice[-1] + days * a_day * rest_s + twice_today


class BatchOrdering:
    """The ordering `batch`: priority classes first, then by `BatchOrder`. Its keys change with time, so the queue is
    sorted before each cycle: for thousands of pending workloads, not millions."""

    name: ClassVar[str] = "batch"
    by_tenant: ClassVar[bool] = False

    def __init__(self, ageing_s: float | None = None) -> None:
        self.ageing_s = ageing_s  # unused: age is part of the formula
        self._order = BatchOrder()
        self._fcfs = FcfsSimulation()
        self._short_work = ShortWork()
        self._keys: dict[int, tuple[float, ...]] = {}
        self._now = 0.0
        self._wait_limit_s = 0.0
        self._latest = -1  # the workload that arrived last: ids grow

    def key(self, entry: QueueEntry) -> tuple[float, ...]:
        """The key of the last `rekey`. Newer entries are last in their priority class until the next one."""
        return self._keys.get(entry.id, (entry.rank, np.inf))

    def arrived(self, entry: QueueEntry, now: float) -> None:
        if entry.id <= self._latest:
            return  # it arrived before a restart
        self._latest = entry.id
        self._order.arrived(now, run_s_of(entry))
        self._fcfs.arrived(now, entry.id, entry.share, run_s_of(entry))
        self._short_work.arrived(now, entry)

    def started(self, entry: QueueEntry, now: float) -> None:
        self._short_work.started(now, entry)

    def ended(self, workload: int, now: float, ran_s: float | None) -> None:
        """`ran_s` None: it ended before it ran."""
        self._keys.pop(workload, None)
        self._short_work.ended(workload)
        if ran_s is None:
            self._fcfs.withdrawn(now, workload)
        else:
            self._fcfs.ended(now, workload, ran_s)

    def memory(self) -> dict[str, Any]:
        return {
            "order": self._order.to_json(),
            "fcfs": self._fcfs.to_json(),
            "short_work": self._short_work.to_json(),
            "latest": self._latest,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        self._order = BatchOrder.from_json(memory["order"])
        self._fcfs = FcfsSimulation.from_json(memory["fcfs"])
        self._short_work = ShortWork.from_json(memory["short_work"])
        self._latest = memory["latest"]

    def rekey(self, entries: Sequence[QueueEntry], now: float) -> None:
        longest_s = self._fcfs.longest_wait_s(now)
        submitted = np.array([entry.submitted_at for entry in entries])
        self._now, self._wait_limit_s = now, self._order.wait_limit_s(longest_s, now - submitted)
        if not entries:
            return
        self._short_work.look(now, entries)
        runs = np.array([run_s_of(entry) for entry in entries])
        shares = np.array([entry.share for entry in entries])
        keys = self._order.keys(now, submitted, runs, shares, longest_s).tolist()
        for entry, key in zip(entries, keys, strict=True):
            self._keys[entry.id] = (entry.rank, key)

    def free_share(self, entry: QueueEntry) -> float:
        """The share of the cluster that must stay free when it starts: none while nobody would have to wait."""
        if not self._fcfs.has_waiting:
            return 0.0
        share = np.array([entry.share])
        return float(self._order.needed_share(np.array([run_s_of(entry)]), share)[0] - entry.share)

    def holds_back(self, entry: QueueEntry, share: float, free: float) -> bool:
        """Should the entry, which fits and takes `share` of the `free` share, wait for the next end?"""
        if self._now - entry.submitted_at >= self._wait_limit_s or self._fcfs.waiting_share < RARELY:
            return False
        return self._short_work.profits(entry, share, free)
