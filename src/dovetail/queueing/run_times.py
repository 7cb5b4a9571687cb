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
REMEMBERED_RUNS = 7
"""For each kind: enough to ignore outliers, few enough to follow changes."""
REMEMBERED_KINDS = 5_000


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


@dataclass(slots=True)
class _Run:
    """The successful tasks of a run, and the seconds they took together."""

    name: str
    seconds: float
    tasks: int


@dataclass(slots=True)
class UsualTimes:
    """The usual run time of each kind of work, to tell slow nodes from long work. A run is a single task or a whole
    gang, whose tasks wait for each other. What identifies a kind and a run is left to others."""

    kinds: int = REMEMBERED_KINDS
    _runs: OrderedDict[str, list[_Run]] = field(default_factory=OrderedDict)  # of each kind, the latest last

    def expected_s(self, kind: str, run: str) -> float | None:
        """The lower median of the other runs of the kind; None if there are none. The lower one, so that slow nodes,
        if they are half of all, do not define what is usual."""
        others = sorted([one.seconds / one.tasks for one in self._runs.get(kind, ()) if one.name != run])
        return others[(len(others) - 1) // 2] if others else None

    def slowdown(self, kind: str, run: str, took_s: float) -> float | None:
        """`took_s` relative to the usual time; None if that is unknown."""
        expected_s = self.expected_s(kind, run)
        return None if expected_s is None else max(took_s, SHORTEST_S) / max(expected_s, SHORTEST_S)

    def finished(self, kind: str, run: str, took_s: float) -> None:
        """A task of the run succeeded. Do not call this for other tasks."""
        runs = self._runs.setdefault(kind, [])
        self._runs.move_to_end(kind)
        for one in reversed(runs):
            if one.name == run:
                one.seconds += took_s
                one.tasks += 1
                return
        runs.append(_Run(run, took_s, 1))
        if len(runs) > REMEMBERED_RUNS:
            del runs[0]
        while len(self._runs) > self.kinds:
            self._runs.popitem(last=False)

    def to_json(self) -> dict[str, Any]:
        """Kinds from the least to the most recent, so that reading keeps the order of eviction."""
        return {kind: [[one.name, one.seconds, one.tasks] for one in runs] for kind, runs in self._runs.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kinds: int = REMEMBERED_KINDS) -> "UsualTimes":
        found = cls(kinds)
        for kind, runs in data.items():
            found._runs[kind] = [_Run(name, seconds, tasks) for name, seconds, tasks in runs]
        return found
