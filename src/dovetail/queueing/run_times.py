"""Predicts run times from the declared time and from how much of it the owner's last tasks used.

Guarantees: a prediction is never longer than the declared time, never negative, and depends only on tasks that ended
before; memory is bounded (the latest owners, a few tasks each). Without history the prediction is the declared time.
Left to others: what identifies an owner, and how predictions are used. They are often too short, so only declared
times may back a reservation.
"""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REMEMBERED_TASKS = 5
"""For each owner. Few, because what a user runs changes from day to day."""
REMEMBERED_OWNERS = 10_000
SHORTEST_S = 1.0
"""Floor for divisors."""


@dataclass(frozen=True, slots=True)
class _Ended:
    actual_s: float
    used: float | None
    """The fraction of the declared time that was used, at most 1. None if none was declared."""


@dataclass(slots=True)
class RunTimes:
    """Predictions by owner. Deterministic."""

    owners: int = REMEMBERED_OWNERS
    _history: OrderedDict[str, deque[_Ended]] = field(default_factory=OrderedDict)

    def expected_s(self, owner: str, declared_s: float | None) -> float | None:
        """The predicted run time. None if none was declared and the owner has no history."""
        history = self._history.get(owner, ())
        if declared_s is None:
            return sum(ended.actual_s for ended in history) / len(history) if history else None
        used = [ended.used for ended in history if ended.used is not None]
        if not used:
            return declared_s
        return min(declared_s, max(SHORTEST_S, declared_s * sum(used) / len(used)))

    def finished(self, owner: str, declared_s: float | None, actual_s: float) -> None:
        """A task ended by itself. Do not call this for tasks that were stopped."""
        used = None if declared_s is None else min(1.0, actual_s / max(SHORTEST_S, declared_s))
        self._history.setdefault(owner, deque(maxlen=REMEMBERED_TASKS)).append(_Ended(actual_s, used))
        self._history.move_to_end(owner)
        while len(self._history) > self.owners:
            self._history.popitem(last=False)

    def to_json(self) -> dict[str, Any]:
        """Owners from the least to the most recent, so that reading keeps the order of eviction."""
        return {owner: [[ended.actual_s, ended.used] for ended in history] for owner, history in self._history.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], owners: int = REMEMBERED_OWNERS) -> "RunTimes":
        run_times = cls(owners)
        for owner, history in data.items():
            ended = (_Ended(actual_s, used) for actual_s, used in history)
            run_times._history[owner] = deque(ended, maxlen=REMEMBERED_TASKS)
        return run_times


def extended_estimate_s(estimate_s: float, ran_s: float, declared_s: float | None) -> float:
    """The next estimate for a task that outran the last one: twice as long, at most the declared time. Beyond the
    declared time it keeps doubling, since the task must be expected to end some time."""
    if ran_s < estimate_s:
        return estimate_s
    doubled_s = 2 * max(ran_s, SHORTEST_S)
    return min(doubled_s, declared_s) if declared_s is not None and declared_s > ran_s else doubled_s
