"""Figures of batch jobs from their starts: bounded slowdown, waits, utilisation.

Bounded slowdown is (wait + run) / max(run, 10 s), at least 1: how many times longer than necessary a job took, without
exaggerating jobs of a few seconds. The mean is taken over the jobs of a sequence, then over
sequences; the median and the waits are of all jobs together.
Left to others: starting the jobs (`batch`), and rendering.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dovetail.simulate.swf import BatchJob

BOUND_S = 10.0


@dataclass(frozen=True, slots=True)
class SequenceFigures:
    mean_slowdown: float
    mean_wait_s: float
    longest_wait_s: float
    utilisation: float  # from the first submission to the last end


@dataclass(frozen=True, slots=True)
class BatchFigures:
    mean_slowdown: float
    median_slowdown: float
    mean_wait_s: float
    longest_wait_s: float
    utilisation: float
    sequences: tuple[SequenceFigures, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sequences": [asdict(one) for one in self.sequences]}

    def longest_against(self, other: "BatchFigures") -> float | None:
        """The longest wait as a multiple of another policy's; None where nobody waited with that one."""
        return self.longest_wait_s / other.longest_wait_s if other.longest_wait_s else None


def figures_of(played: Sequence[tuple[Sequence[BatchJob], Sequence[float]]], processors: int) -> BatchFigures:
    """Of one or more sequences of jobs and when each of them started."""
    slowdowns, waits, found = [], [], []
    for jobs, starts in played:
        submit_s = np.array([job.submit_s for job in jobs])
        run_s = np.array([job.run_s for job in jobs])
        start_s = np.array(starts)
        wait_s = start_s - submit_s
        slowdown = np.maximum(1.0, (wait_s + run_s) / np.maximum(run_s, BOUND_S))
        work = float(run_s @ np.array([job.processors for job in jobs]))
        span_s = float((start_s + run_s).max() - submit_s.min())
        figures = (slowdown.mean(), wait_s.mean(), wait_s.max(), work / (processors * span_s))
        found.append(SequenceFigures(*map(float, figures)))
        slowdowns.append(slowdown)
        waits.append(wait_s)
    all_waits = np.concatenate(waits)
    return BatchFigures(
        mean_slowdown=float(np.mean([one.mean_slowdown for one in found])),
        median_slowdown=float(np.median(np.concatenate(slowdowns))),
        mean_wait_s=float(all_waits.mean()),
        longest_wait_s=float(all_waits.max()),
        utilisation=float(np.mean([one.utilisation for one in found])),
        sequences=tuple(found),
    )
