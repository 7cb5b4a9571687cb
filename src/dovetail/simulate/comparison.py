"""Figures of one batch policy on sequences of jobs, and how several policies compare.

Every sequence starts with an empty machine and a new engine. The longest wait is compared with that of first come,
first served with backfill, which exposes policies that improve the mean by starvation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.policies import Backfill, BatchPolicy
from dovetail.simulate.predicted_starts import PredictedStarts, PredictionFigures
from dovetail.simulate.slowdown import BatchFigures, figures_of
from dovetail.simulate.swf import BatchJob

#: Which sequence is played (from 1), and how many of its jobs have ended.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class BatchRun:
    policy: str
    backfill: Backfill
    figures: BatchFigures
    predictions: PredictionFigures | None = None

    def to_dict(self, yardstick: "BatchRun | None") -> dict[str, Any]:
        found: dict[str, Any] = {"policy": self.policy, "backfill": self.backfill, **self.figures.to_dict()}
        if yardstick is not None:
            found["longest_wait_against_fcfs"] = self.figures.longest_against(yardstick.figures)
        if self.predictions is not None:
            found["predicted_starts"] = self.predictions.to_dict()
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
        starts = replay.run(None if progress is None else _of_sequence(progress, number))
        played.append((jobs, starts))
        if predicted is not None:
            predicted.score(starts)
    figures = figures_of(played, processors)
    return BatchRun(policy.name, backfill, figures, predicted.figures() if predicted else None)


def yardstick(runs: Iterable[BatchRun]) -> BatchRun | None:
    """First come, first served with backfilling, if that was played."""
    return next((run for run in runs if (run.policy, run.backfill) == ("fcfs", "easy")), None)


def _of_sequence(progress: Progress, number: int) -> Callable[[int], None]:
    return lambda ended: progress(number, ended)
