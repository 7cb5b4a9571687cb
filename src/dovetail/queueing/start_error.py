"""How wrong expected waits have been, so that a predicted start can be said as a range that holds.

A wait that was expected and the wait that came give an error; errors are kept apart by how long the expected wait was,
since short forecasts go wrong in other ways than long ones. The range around a new expectation spans the middle of the
errors of its kind. Guarantees: only the past is used, the range contains no time before now, memory is bounded. Leaves
to others: the expectation itself, and telling of every workload that started (not only of those that were quick).
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, exp, floor, log
from typing import Any

SCALE_S = 60.0
"""Errors are ratios of waits with this added: nobody cares whether a start came after one second or after ten."""
EDGES_S = (1.0, 60.0, 600.0, 3_600.0, 4 * 3_600.0, 24 * 3_600.0)
"""Expected waits between two of these are of one kind."""
KEPT_ERRORS = 400
MIN_ERRORS = 30
"""With fewer errors of its kind, a range takes those of all kinds."""


def _errors() -> deque[float]:
    return deque(maxlen=KEPT_ERRORS)


@dataclass(slots=True)
class Calibration:
    """Errors by kind of expectation. `share` of the actual starts should fall into the range."""

    share: float = 0.86
    _by_kind: list[deque[float]] = field(default_factory=lambda: [_errors() for _ in range(len(EDGES_S) + 1)])
    _all: deque[float] = field(default_factory=_errors)

    def range(self, expected_wait_s: float) -> tuple[float, float]:
        """Earliest and latest wait from now on, in seconds."""
        kind = self._by_kind[_kind(expected_wait_s)]
        errors = sorted(kind if len(kind) >= MIN_ERRORS else self._all)
        if not errors:
            return 0.0, expected_wait_s + SCALE_S
        tail = (1 - self.share) / 2
        low = errors[max(0, floor(tail * (len(errors) + 1)) - 1)]
        high = errors[min(len(errors) - 1, ceil((1 - tail) * (len(errors) + 1)) - 1)]
        return _wait_s(expected_wait_s, low), _wait_s(expected_wait_s, high)

    def learn(self, expected_wait_s: float, actual_wait_s: float) -> None:
        """A workload started: what was expected when it was submitted, and what came."""
        error = log((max(0.0, actual_wait_s) + SCALE_S) / (max(0.0, expected_wait_s) + SCALE_S))
        self._by_kind[_kind(expected_wait_s)].append(error)
        self._all.append(error)

    def to_json(self) -> dict[str, Any]:
        return {"share": self.share, "kinds": [list(kind) for kind in self._by_kind], "all": list(self._all)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Calibration":
        kinds = [deque(kind, maxlen=KEPT_ERRORS) for kind in data["kinds"]]
        if len(kinds) != len(EDGES_S) + 1:
            return cls(data["share"])  # written with other edges: learn anew rather than mix kinds
        return cls(data["share"], kinds, deque(data["all"], maxlen=KEPT_ERRORS))


def _wait_s(expected_wait_s: float, error: float) -> float:
    return max(0.0, (expected_wait_s + SCALE_S) * exp(error) - SCALE_S)


def _kind(expected_wait_s: float) -> int:
    return bisect_left(EDGES_S, expected_wait_s)
