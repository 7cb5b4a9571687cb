"""Learns the usual run time of each kind of work, to tell slow nodes from long work.

A run is a single task or a whole gang, whose tasks wait for each other. It is compared with the median of the last few
other runs of its kind. Guarantees: deterministic; memory is bounded (the latest kinds, a few runs each). Left to
others: what identifies a kind and a run, and what a slowdown says about a node.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.queueing.run_times import SHORTEST_S

REMEMBERED_RUNS = 7
"""For each kind: enough to ignore outliers, few enough to follow changes."""
REMEMBERED_KINDS = 5_000


@dataclass(slots=True)
class _Run:
    """The successful tasks of a run, and the seconds they took together."""

    name: str
    seconds: float
    tasks: int


@dataclass(slots=True)
class UsualTimes:
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
