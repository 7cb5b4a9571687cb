"""The fate of one attempt, known in advance.

Pure: the same seed, key, workload and settings give the same fate, here, in the discrete-event simulator and after a
restart. A retry has another key and so another fate. The caller has the clock.
"""

import math
from typing import NamedTuple

from dovetail.backends.simulated.chance import chances, normal
from dovetail.backends.simulated.settings import RehearsalSettings
from dovetail.model.text.quantity import MAX_DURATION_S, format_duration
from dovetail.model.workloads.workload import Workload

FAILED = 1
TIMED_OUT = 124  # as timeout(1) uses it


class Fate(NamedTuple):
    """In virtual seconds: bound at 0, accepted after `bind_delay_s`, started `start_delay_s` later."""

    bind_delay_s: float
    start_delay_s: float
    run_time_s: float | None  # None: until it is stopped
    exit_code: int
    reason: str


def rehearse(seed: int, key: str, spec: Workload, settings: RehearsalSettings) -> Fate:
    asked = spec.run.simulate
    run_time_s = asked.run_time if asked is not None else None
    exit_code = asked.exit_code if asked is not None else 0
    luck, u, v, _ = chances(seed, key)
    if run_time_s is None:
        run_time_s = _drawn_run_time_s(u, v, settings)
    if exit_code == 0 and luck < settings.failure_rate:
        exit_code = FAILED
    reason = f"exit status {exit_code}"
    limit_s = spec.deadline.run_for
    if limit_s is not None and (run_time_s is None or run_time_s > limit_s):
        run_time_s, exit_code = limit_s, TIMED_OUT
        reason = f"ran longer than deadline.run_for allows ({format_duration(limit_s)})"
    return Fate(settings.bind_delay, settings.start_delay, run_time_s, exit_code, reason)


def _drawn_run_time_s(u: float, v: float, settings: RehearsalSettings) -> float | None:
    drawn = settings.run_time
    if drawn is None or settings.forever:
        return None
    return min(drawn.median * math.exp(drawn.sigma * normal(u, v)), MAX_DURATION_S)
