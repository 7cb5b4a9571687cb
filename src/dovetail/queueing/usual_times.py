"""How long work of a kind usually takes, and how much slower one run of it was: what tells a slow node from long work.

A run is what takes its time as one: a task by itself, or a gang, whose tasks wait for each other. It is compared with
the middle one of the last few other runs of its kind, never with itself.
Guarantees: the same calls in the same order give the same answers; memory is bounded (the kinds heard of last, a few
runs each). Leaves to others: which string names a kind and which a run, and what a slowdown says about a node.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.queueing.run_times import SHORTEST_S

REMEMBERED_RUNS = 7
"""Of a kind: enough that a few odd ones do not count, few enough to follow when such work changes."""
REMEMBERED_KINDS = 5_000


@dataclass(slots=True)
class _Run:
    """The tasks of a run that ended well, and the seconds they took together."""

    name: str
    seconds: float
    tasks: int


@dataclass(slots=True)
class UsualTimes:
    kinds: int = REMEMBERED_KINDS
    _runs: OrderedDict[str, list[_Run]] = field(default_factory=OrderedDict)  # of each kind, the latest last

    def expected_s(self, kind: str, run: str) -> float | None:
        """What other runs of the kind took, the middle one of them; None if there was none. Of two in the middle the
        shorter: where every other node is slow, that is not what is usual."""
        others = sorted([one.seconds / one.tasks for one in self._runs.get(kind, ()) if one.name != run])
        return others[(len(others) - 1) // 2] if others else None

    def slowdown(self, kind: str, run: str, took_s: float) -> float | None:
        """How many times as long as usual that is; None where nobody knows what is usual."""
        expected_s = self.expected_s(kind, run)
        return None if expected_s is None else max(took_s, SHORTEST_S) / max(expected_s, SHORTEST_S)

    def finished(self, kind: str, run: str, took_s: float) -> None:
        """A task of the run ended well. Others say nothing about how long such work takes."""
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
        """Kinds from the one heard of longest ago to the latest, so that reading keeps the order of forgetting."""
        return {kind: [[one.name, one.seconds, one.tasks] for one in runs] for kind, runs in self._runs.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kinds: int = REMEMBERED_KINDS) -> "UsualTimes":
        found = cls(kinds)
        for kind, runs in data.items():
            found._runs[kind] = [_Run(name, seconds, tasks) for name, seconds, tasks in runs]
        return found
