"""Synthetic batch logs: a family that differs in load, widths, estimates and arrivals, reproducible by seed.

Run times and the daily cycle follow Lublin and Feitelson, "The workload on parallel supercomputers: modeling the
characteristics of rigid jobs" (JPDC 63, 2003), with its parameters for all jobs. Widths are uniform or powers of two by
its two-stage uniform distribution, over the whole machine or a quarter of it. Some logs have exponential run times
instead, which differ less. Estimates are exact, or wild: every user
has a habit of up to fifty times the run time, rounded up to a limit that people type. Arrivals follow the daily cycle,
or come in bursts of similar jobs from one user. The load is met exactly by the time over which the jobs arrive.
"""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.swf import BatchJob

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Widths = Literal["uniform", "powers", "quarter"]
Estimates = Literal["exact", "wild"]
Arrivals = Literal["daily", "bursts"]
Runs = Literal["lublin", "exponential"]

LOADS = (0.3, 0.46, 0.8, 1.2)
DAY_S = 86_400.0
BUCKET_S = 1_800.0
BUCKETS = 48
FIRST_BUCKET = 11  # where the model's day begins
USERS = 40
BURST = 12  # jobs on average
WILDEST = 50.0
LONGEST = 12.0  # ln of seconds: longer run times are drawn again
MINUTES = (1, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1080, 1440, 2880, 5760, 10080, 20160)
TYPED_S = 60.0 * np.array(MINUTES)  # limits that people type


@dataclass(frozen=True, slots=True)
class LogRecipe:
    """One log of the family."""

    load: float
    widths: Widths
    estimates: Estimates
    arrivals: Arrivals
    runs: Runs
    processors: int = 128
    jobs: int = 500
    seed: int = 0

    @property
    def name(self) -> str:
        return f"load {self.load:.2f}, {self.widths}, {self.estimates}, {self.arrivals}, {self.runs}"


WIDTHS: tuple[Widths, ...] = ("uniform", "powers", "quarter")
ESTIMATES: tuple[Estimates, ...] = ("exact", "wild")
ARRIVALS: tuple[tuple[Arrivals, Runs], ...] = (("daily", "lublin"), ("bursts", "lublin"), ("daily", "exponential"))


def family(jobs: int, seed: int) -> list[LogRecipe]:
    """Every combination; each with a seed of its own."""
    combinations = product(LOADS, WIDTHS, ESTIMATES, ARRIVALS)
    return [
        LogRecipe(load, widths, estimates, arrivals, runs, jobs=jobs, seed=1000 * seed + number)
        for number, (load, widths, estimates, (arrivals, runs)) in enumerate(combinations)
    ]


def jobs_of(recipe: LogRecipe) -> tuple[BatchJob, ...]:
    """In the order of their submission."""
    chance = np.random.default_rng(recipe.seed)
    burst = _bursts(chance, recipe)
    count = int(burst[-1]) + 1
    widths = _widths(chance, recipe, count)
    run_s = _run_times(chance, recipe.runs, widths / recipe.processors)[burst]
    users = chance.choice(USERS, count, p=_popularity())[burst]
    widths = widths[burst]
    if recipe.arrivals == "bursts":
        run_s = run_s * np.exp(chance.normal(0.0, 0.3, recipe.jobs))
    run_s = np.maximum(1.0, np.floor(run_s))
    span_s = float(run_s @ widths) / recipe.processors / recipe.load
    submit_s = np.floor(_submitted(chance, recipe, burst, span_s))
    requested_s = _requested(chance, recipe, run_s, users)
    order = np.argsort(submit_s, kind="stable")
    return tuple(
        BatchJob(number, float(submit_s[i]), float(run_s[i]), float(requested_s[i]), int(widths[i]), f"u{users[i]}")
        for number, i in enumerate(order, start=1)
    )


def daily_cycle() -> Floats:
    """The relative number of arrivals in each half hour of the day, 1 on average."""
    steps = np.linspace(1e-9, 70.0, 70_001)
    density = steps ** (8.1737 - 1.0) * np.exp(-steps / 3.9631)
    below = np.cumsum(density) / density.sum()
    found = np.zeros(BUCKETS)
    for bucket in range(FIRST_BUCKET, FIRST_BUCKET + BUCKETS):
        low, high = np.interp([bucket - 0.5, bucket + 0.5], steps, below)
        found[(bucket - 1) % BUCKETS] = high - low
    return np.asarray(found / found.mean(), dtype=np.float64)


def _bursts(chance: np.random.Generator, recipe: LogRecipe) -> Ints:
    """The burst that each job belongs to; without bursts, each has its own."""
    if recipe.arrivals != "bursts":
        return np.arange(recipe.jobs)
    sizes = chance.geometric(1.0 / BURST, recipe.jobs)
    return np.repeat(np.arange(recipe.jobs), sizes)[: recipe.jobs]


def _popularity() -> Floats:
    weights = 1.0 / np.arange(1, USERS + 1)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _widths(chance: np.random.Generator, recipe: LogRecipe, count: int) -> Ints:
    if recipe.widths == "uniform":
        return chance.integers(1, recipe.processors + 1, count)
    widest = recipe.processors if recipe.widths == "powers" else recipe.processors // 4
    high = np.log2(widest)
    exponents = np.where(
        chance.random(count) < 0.86, chance.uniform(0.8, high - 2.5, count), chance.uniform(high - 2.5, high, count)
    )
    serial = chance.random(count) < 0.244
    return np.where(serial, 1, 2 ** np.round(exponents).astype(np.int64))


def _run_times(chance: np.random.Generator, runs: Runs, shares: Floats) -> Floats:
    """Lublin: hyper-gamma, wide jobs are long more often; the model is of a machine with 128 processors."""
    if runs == "exponential":
        return chance.exponential(3_600.0, len(shares))
    short = np.clip(0.78 - 0.0054 * 128 * shares, 0.0, 1.0)
    logs = np.full(len(shares), np.inf)
    while (again := np.flatnonzero(logs > LONGEST)).size:
        is_short = chance.random(again.size) < short[again]
        logs[again] = np.where(is_short, chance.gamma(4.2, 0.94, again.size), chance.gamma(312.0, 0.03, again.size))
    return np.asarray(np.exp(logs), dtype=np.float64)


def _submitted(chance: np.random.Generator, recipe: LogRecipe, burst: Ints, span_s: float) -> Floats:
    if recipe.arrivals == "bursts":
        begins_s = np.sort(chance.uniform(0.0, span_s, int(burst[-1]) + 1))
        return np.asarray(begins_s[burst] + chance.exponential(60.0, len(burst)), dtype=np.float64)
    days = int(span_s // DAY_S) + 1
    edges_s = np.arange(days * BUCKETS + 1) * BUCKET_S
    arrived = np.concatenate(([0.0], np.cumsum(np.tile(daily_cycle(), days))))
    quantiles = np.sort(chance.uniform(0.0, np.interp(span_s, edges_s, arrived), len(burst)))
    return np.asarray(np.interp(quantiles, arrived, edges_s), dtype=np.float64)


def _requested(chance: np.random.Generator, recipe: LogRecipe, run_s: Floats, users: Ints) -> Floats:
    if recipe.estimates == "exact":
        return run_s
    habits = chance.uniform(0.0, np.log(WILDEST), USERS)
    wanted_s = run_s * np.exp(np.maximum(0.0, habits[users] + chance.normal(0.0, 0.7, len(run_s))))
    typed_s = TYPED_S[np.minimum(TYPED_S.searchsorted(wanted_s), len(TYPED_S) - 1)]
    return np.asarray(np.maximum(run_s, typed_s), dtype=np.float64)
