"""The fate of one attempt, known in advance, and the random numbers that decide it.

Pure: the same seed, key, workload and settings give the same fate, here, in the discrete-event simulator and after a
restart. A retry has another key and so another fate. The caller has the clock.

Random numbers are drawn by name, in any order. There is no generator and so no state: the fate of one attempt never
depends on others.
"""

import math
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from dovetail.backends.simulated.settings import RehearsalSettings
from dovetail.model.text.quantity import MAX_DURATION_S, format_duration
from dovetail.model.workloads.workload import Workload

FAILED = 1
TIMED_OUT = 124  # as timeout(1) uses it
_WORDS = Struct("<4Q")
_STEPS = 2.0**52


def chances(seed: int, name: str) -> tuple[float, float, float, float]:
    """Four independent numbers, uniform in the open interval (0, 1): never 0 or 1, so logarithms are safe."""
    a, b, c, d = _WORDS.unpack(blake2b(f"{seed}/{name}".encode(), digest_size=32).digest())
    return (
        ((a >> 12) + 0.5) / _STEPS,
        ((b >> 12) + 0.5) / _STEPS,
        ((c >> 12) + 0.5) / _STEPS,
        ((d >> 12) + 0.5) / _STEPS,
    )


def normal(u: float, v: float) -> float:
    """A standard normal number from two uniform ones (Box and Muller)."""
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


def exponential(u: float, mean: float) -> float:
    return -mean * math.log(u)


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
