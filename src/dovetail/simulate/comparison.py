"""Figures of one batch policy on sequences of jobs, and how several policies compare.

Every sequence starts with an empty machine and a new engine. The longest wait is compared with that of first come,
first served with backfill, which exposes policies that improve the mean by starvation.

Bounded slowdown is (wait + run) / max(run, 10 s), at least 1: how many times longer than necessary a job took, without
exaggerating jobs of a few seconds. The mean is taken over the jobs of a sequence, then over sequences; the median and
the waits are of all jobs together. Left to others: starting the jobs (`batch`), and rendering.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from dovetail.engine.pieces import whole
from dovetail.engine.questions.plan_questions import StartGuess
from dovetail.engine.questions.questions import Questions
from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.policies import Backfill, BatchPolicy
from dovetail.simulate.swf import BatchJob

BOUND_S = 10.0

#: Which sequence is played (from 1), and how many of its jobs have ended.
Progress = Callable[[int, int], None]


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


@dataclass(frozen=True, slots=True)
class PredictionFigures:
    """Predictions of the engine at submission against actual starts. None where no job was told a start."""

    waited: int  # jobs that did not start when they were submitted
    told: int  # of those, with a predicted start
    median_error_s: float | None  # between the expected and the actual start, whichever was later
    in_range: float | None  # share of those told whose start fell between the earliest and the latest


@dataclass(slots=True)
class PredictedStarts:
    """`ask` after each submission (`AfterSubmission`), `score` when the sequence was played; any number of times."""

    waited: int = 0
    _told: dict[int, StartGuess] = field(default_factory=dict)
    _errors_s: list[float] = field(default_factory=list)
    _held: int = 0

    def ask(self, questions: Questions, workload: int, now: float) -> None:
        if not questions.workloads.is_waiting(workload):
            return
        self.waited += 1
        found = whole(questions.plans.start(workload, now))
        if found is not None:
            self._told[workload] = found

    def score(self, starts: Sequence[float]) -> None:
        """`starts` by workload id, which counts from 1."""
        for workload, guess in self._told.items():
            start = starts[workload - 1]
            self._errors_s.append(abs(start - guess.expected))
            self._held += guess.early <= start <= guess.late
        self._told.clear()

    def figures(self) -> PredictionFigures:
        told = len(self._errors_s)
        if not told:
            return PredictionFigures(self.waited, 0, None, None)
        return PredictionFigures(self.waited, told, median(self._errors_s), self._held / told)


@dataclass(frozen=True, slots=True)
class BatchRun:
    policy: str
    backfill: Backfill
    figures: BatchFigures
    predictions: PredictionFigures | None = None
    played: tuple[tuple[Sequence[BatchJob], Sequence[float]], ...] = ()  # each sequence, and when its jobs started

    def to_dict(self, yardstick: "BatchRun | None") -> dict[str, Any]:
        found: dict[str, Any] = {"policy": self.policy, "backfill": self.backfill, **asdict(self.figures)}
        if yardstick is not None:
            found["longest_wait_against_fcfs"] = self.figures.longest_against(yardstick.figures)
        if self.predictions is not None:
            found["predicted_starts"] = asdict(self.predictions)
        return found


def play(
    policy: BatchPolicy,
    backfill: Backfill,
    sequences: Sequence[Sequence[BatchJob]],
    processors: int,
    *,
    predict: bool = False,
    progress: Progress | None = None,
) -> BatchRun:
    """Raises what `BatchReplay` raises."""
    predicted = PredictedStarts() if predict else None
    played = []
    for number, jobs in enumerate(sequences, start=1):
        asked = predicted.ask if predicted else None
        replay = BatchReplay(jobs, processors, policy.settings(backfill), asked, by_moment=policy.by_moment)
        starts = replay.run(None if progress is None else partial(progress, number))
        played.append((jobs, starts))
        if predicted is not None:
            predicted.score(starts)
    figures = figures_of(played, processors)
    return BatchRun(policy.name, backfill, figures, predicted.figures() if predicted else None, tuple(played))


def yardstick(runs: Iterable[BatchRun]) -> BatchRun | None:
    """First come, first served with backfilling, if that was played."""
    return next((run for run in runs if (run.policy, run.backfill) == ("fcfs", "easy")), None)
