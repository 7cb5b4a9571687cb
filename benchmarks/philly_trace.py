"""Philly's jobs, and stretches of them that keep a larger cluster as busy as is wanted.

A stretch begins with the jobs that would be running by then, for the rest of their time. Jobs come as much faster than
they came as it takes; their run times stay. `SETTLING_DAYS` of the trace later the counting begins: by then short jobs
have come and gone often enough that where they lie is the scheduler's doing.
"""

import csv
import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import NotRun

GPUS_A_NODE = 8
SETTLING_DAYS = 3.0
DAY_S = 86400.0
FASTEST = 1000.0


class Stretch(NamedTuple):
    """Days of the trace, and the share of all GPUs that is asked for on average."""

    first_day: float
    last_day: float
    load: float


class PhillyJob(NamedTuple):
    submit_s: float
    run_s: float
    gpus: int

    @property
    def nodes(self) -> int:
        return -(-self.gpus // GPUS_A_NODE)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is played: jobs in order, when counting begins and ends, and how much faster they come than they came."""

    title: str
    jobs: list[PhillyJob]
    begin: float
    end: float
    faster: float


@cache
def read_trace(path: Path) -> tuple[PhillyJob, ...]:
    """By submission, from the first on."""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    when = [datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC).timestamp() for row in rows]
    first = min(when)
    jobs = [
        PhillyJob(at - first, float(row["duration"]), int(row["num_gpus"])) for at, row in zip(when, rows, strict=True)
    ]
    return tuple(sorted(jobs))


def demand(jobs: Sequence[PhillyJob], begin_s: float, end_s: float, faster: float) -> float:
    """GPUs that jobs which never wait hold on average between two moments of the trace, if they come so much faster."""
    submitted, run, gpus = np.array(jobs).T
    starts, begin, end = submitted / faster, begin_s / faster, end_s / faster
    held = np.maximum(np.minimum(starts + run, end) - np.maximum(starts, begin), 0.0)
    return float((held * gpus).sum() / (end - begin))


def scene_of(trace: Sequence[PhillyJob], stretch: Stretch, gpus: int) -> Scene:
    """Raises NotRun where the trace does not ask for so much however fast it comes."""
    first_s, last_s = stretch.first_day * DAY_S, stretch.last_day * DAY_S
    begin_s = first_s + SETTLING_DAYS * DAY_S
    known = [job for job in trace if job.submit_s < last_s]
    slow, fast = 1.0, FASTEST
    if not known or demand(known, begin_s, last_s, fast) < stretch.load * gpus:
        raise NotRun(f"days {stretch.first_day:g} to {stretch.last_day:g} never ask for {stretch.load:.0%} of {gpus}")
    while fast - slow > 1e-6 * fast:
        middle = (slow + fast) / 2
        slow, fast = (middle, fast) if demand(known, begin_s, last_s, middle) < stretch.load * gpus else (slow, middle)
    jobs = []
    for job in known:
        at = (job.submit_s - first_s) / fast
        if at >= 0:
            jobs.append(job._replace(submit_s=at))
        elif at + job.run_s > 0:  # it would be running
            jobs.append(PhillyJob(0.0, at + job.run_s, job.gpus))
    title = f"days {stretch.first_day:g} to {stretch.last_day:g}, {stretch.load:.0%}"
    return Scene(title, jobs, (begin_s - first_s) / fast, (last_s - first_s) / fast, fast)
