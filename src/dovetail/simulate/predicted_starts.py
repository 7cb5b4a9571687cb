"""Accuracy of predicted starts: the prediction at submission against the actual start.

Only jobs that wait count. The predictions are those of the engine
(`engine.forecast`), made with what it knows at that moment; asking changes nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from dovetail.engine.pieces import whole
from dovetail.engine.questions.plan_questions import StartGuess
from dovetail.engine.questions.questions import Questions


@dataclass(frozen=True, slots=True)
class PredictionFigures:
    """None where no job was told a start."""

    waited: int  # jobs that did not start when they were submitted
    told: int  # of those, with a predicted start
    median_error_s: float | None  # between the expected and the actual start, whichever was later
    in_range: float | None  # share of those told whose start fell between the earliest and the latest

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


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
