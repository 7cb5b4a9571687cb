"""The order of batch work: short and narrow first, nobody for ever, the widest work when few others come.

A key is 2 ln(run time) + ln(share) less an age that grows slowly at first and steeply as the wait nears its limit,
a multiple of the longest wait that first come first served would have given anybody (`shadow`). Work that takes the
whole machine holds up all that arrive meanwhile, so its age counts sooner in hours in which few short tasks arrive and
later in busy ones; which hours those are is learned from arrivals. Guarantees: smaller keys go first; past its limit a
task rises for as long as it waits; only the past is used; state is 48 numbers and two sums. The limit is where age
outweighs size, not a promise: waits may pass it. Leaves to others: ties (order of submission), backfilling,
expectations (`run_times`), the yardstick (`shadow`).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WAIT_LIMIT_FACTOR = 2.55
"""Times the longest wait of first come first served: where age outweighs any size."""
STEEPNESS = 5.0
WEIGHT = 16.0
"""What age is worth at the limit: ln of the largest run time² × share against the smallest."""
FREE_SHARE = 0.02
"""Share of the machine that long work leaves free for short; who needs more than the rest takes the whole machine."""
SHORTEST_S = 10.0
"""As in the bounded slowdown: below this nobody minds."""
SMALLEST_SHARE = 1e-6
"""Floor for logarithms: work that asks for next to nothing."""
TOLERANCE = 1e-9
"""Shares are quotients: one that is just at a limit must not pass it by rounding."""
HOUR_S = 3_600.0
HOURS = 24
DAY_S = HOUR_S * HOURS
UNSEEN_S = 0.3 * HOUR_S
"""So much time at the mean rate is assumed of every hour, so that an hour never seen is taken for an ordinary one."""


def _zeros() -> Floats:
    return np.zeros(HOURS)


@dataclass(slots=True)
class BatchOrder:
    """Times given to the methods must not fall. Same calls in the same order, same answers."""

    wait_limit_factor: float = WAIT_LIMIT_FACTOR
    _urgency: Floats = field(default_factory=_zeros)
    """By hour of the day: the sum of 1 / run time of what arrived, the slowdown a second of delay would cost it."""
    _seen_s: Floats = field(default_factory=_zeros)
    _seen_until: float | None = None
    _log_sum: float = 0.0
    _count: int = 0

    def arrived(self, now: float, expected_s: float) -> None:
        self._count_time(now)
        self._urgency[_hour(now)] += 1.0 / max(expected_s, SHORTEST_S)
        self._log_sum += float(np.log(max(expected_s, 1.0)))
        self._count += 1

    def keys(
        self, now: float, submitted_at: Floats, expected_s: Floats, share: Floats, longest_wait_s: float
    ) -> Floats:
        """One number a task, smaller goes first. `longest_wait_s` is that of first come first served so far."""
        self._count_time(now)
        size = 2.0 * np.log(np.maximum(expected_s, SHORTEST_S)) + np.log(np.maximum(share, SMALLEST_SHARE))
        age = (now - submitted_at) / (self.wait_limit_factor * longest_wait_s + 1.0)
        power = np.full(len(age), STEEPNESS)
        whole = share > 1.0 - FREE_SHARE + TOLERANCE
        if whole.any():
            power[whole] *= self._busyness(now, np.maximum(expected_s[whole], 1.0))
        worth = np.where(age < 1.0, np.minimum(age, 1.0) ** power, age)
        return np.asarray(size - WEIGHT * worth, dtype=np.float64)

    def needed_share(self, expected_s: Floats, share: Floats) -> Floats:
        """What must be free for a task to start: work longer than usual leaves the lane free, if it can."""
        usual_s = np.exp(self._log_sum / max(1, self._count))
        return np.where(expected_s > usual_s, np.minimum(1.0, share + FREE_SHARE), share)

    def _busyness(self, now: float, run_s: Floats) -> Floats:
        """Slowdown that a full machine from now on causes to those who arrive, as a multiple of the usual; 1: usual."""
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
        """Count the time that passed towards the hours of the day it passed in."""
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
    """The hourly rate, repeated day after day, integrated from midnight once and twice."""
    once = np.concatenate(([0.0], np.cumsum(rate * HOUR_S)))
    twice = np.concatenate(([0.0], np.cumsum(once[:-1] * HOUR_S + rate * HOUR_S**2 / 2.0)))
    days, rest_s = np.divmod(until_s, DAY_S)
    hour = np.minimum((rest_s // HOUR_S).astype(np.int64), HOURS - 1)
    into_s = rest_s - hour * HOUR_S
    once_today = once[hour] + rate[hour] * into_s
    twice_today = twice[hour] + once[hour] * into_s + rate[hour] * into_s**2 / 2.0
    a_day, days_before = once[-1], DAY_S * days * (days - 1.0) / 2.0
    return days * a_day + once_today, a_day * days_before + days * twice[-1] + days * a_day * rest_s + twice_today
