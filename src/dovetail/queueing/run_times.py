"""How long a task will probably run, from what its owner declared and how the owner's last tasks compared with that.

Guarantees: an expectation is never longer than what was declared, never negative, and depends only on tasks that
ended before; memory is bounded (the owners heard of last, a few ended tasks each). An owner without history gets what
was declared. Leaves to others: which string names an owner, and what the expectation is used for. Declared times stay
the only ones a reservation may rely on: an expectation is often too short.
"""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REMEMBERED_TASKS = 5
"""Of an owner. Few, because what a user runs changes from day to day."""
REMEMBERED_OWNERS = 10_000
SHORTEST_S = 1.0
"""Floor for divisors: a task declared or ended at zero seconds says nothing about a ratio."""


@dataclass(frozen=True, slots=True)
class _Ended:
    actual_s: float
    used: float | None
    """Share of the declared time that was used, at most 1. None where nothing was declared."""


@dataclass(slots=True)
class RunTimes:
    """Expectations by owner. Same calls in the same order, same answers."""

    owners: int = REMEMBERED_OWNERS
    _history: OrderedDict[str, deque[_Ended]] = field(default_factory=OrderedDict)

    def expected_s(self, owner: str, declared_s: float | None) -> float | None:
        """What a task of this owner will take; None where nothing was declared and nothing is known."""
        history = self._history.get(owner, ())
        if declared_s is None:
            return sum(ended.actual_s for ended in history) / len(history) if history else None
        used = [ended.used for ended in history if ended.used is not None]
        if not used:
            return declared_s
        return min(declared_s, max(SHORTEST_S, declared_s * sum(used) / len(used)))

    def finished(self, owner: str, declared_s: float | None, actual_s: float) -> None:
        """A task ended by itself. Tasks that were stopped from outside say nothing and are not to be told."""
        used = None if declared_s is None else min(1.0, actual_s / max(SHORTEST_S, declared_s))
        self._history.setdefault(owner, deque(maxlen=REMEMBERED_TASKS)).append(_Ended(actual_s, used))
        self._history.move_to_end(owner)
        while len(self._history) > self.owners:
            self._history.popitem(last=False)

    def to_json(self) -> dict[str, Any]:
        """Owners from the one heard of longest ago to the latest, so that reading keeps the order of forgetting."""
        return {owner: [[ended.actual_s, ended.used] for ended in history] for owner, history in self._history.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], owners: int = REMEMBERED_OWNERS) -> "RunTimes":
        run_times = cls(owners)
        for owner, history in data.items():
            ended = (_Ended(actual_s, used) for actual_s, used in history)
            run_times._history[owner] = deque(ended, maxlen=REMEMBERED_TASKS)
        return run_times


def extended_estimate_s(estimate_s: float, ran_s: float, declared_s: float | None) -> float:
    """The next estimate of a task that has run for longer than the last one: twice as long, up to what was declared.

    Past the declared time it doubles again, since a task that is still there has to be expected to end some time.
    """
    if ran_s < estimate_s:
        return estimate_s
    doubled_s = 2 * max(ran_s, SHORTEST_S)
    return min(doubled_s, declared_s) if declared_s is not None and declared_s > ran_s else doubled_s
