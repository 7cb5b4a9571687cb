"""Calibrates predicted starts: turns a predicted wait into a range, from the errors of past predictions.

Errors are grouped by the length of the predicted wait, since short and long predictions fail differently. The range
spans the middle of the errors in the group. Guarantees: only the past is used, the range never starts before now,
memory is bounded. Left to others: the prediction itself, and calling `learn` for every workload that started.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, exp, floor, log
from typing import Any

SCALE_S = 60.0
"""Added to both waits before their ratio is taken: a start after one second or after ten is the same to users."""
EDGES_S = (1.0, 60.0, 600.0, 3_600.0, 4 * 3_600.0, 24 * 3_600.0)
"""The bounds of the groups, in seconds of predicted wait."""
KEPT_ERRORS = 400
MIN_ERRORS = 30
"""With fewer errors in its group, a range uses all errors."""


def _errors() -> deque[float]:
    return deque(maxlen=KEPT_ERRORS)


@dataclass(slots=True)
class Calibration:
    """Errors by group. `share` of the actual starts should fall into the range."""

    share: float = 0.86
    _by_kind: list[deque[float]] = field(default_factory=lambda: [_errors() for _ in range(len(EDGES_S) + 1)])
    _all: deque[float] = field(default_factory=_errors)

    def range(self, expected_wait_s: float) -> tuple[float, float]:
        """The earliest and latest wait from now, in seconds."""
        kind = self._by_kind[_kind(expected_wait_s)]
        errors = sorted(kind if len(kind) >= MIN_ERRORS else self._all)
        if not errors:
            return 0.0, expected_wait_s + SCALE_S
        tail = (1 - self.share) / 2
        low = errors[max(0, floor(tail * (len(errors) + 1)) - 1)]
        high = errors[min(len(errors) - 1, ceil((1 - tail) * (len(errors) + 1)) - 1)]
        return _wait_s(expected_wait_s, low), _wait_s(expected_wait_s, high)

    def learn(self, expected_wait_s: float, actual_wait_s: float) -> None:
        """A workload started: the wait predicted at submission, and the actual one."""
        error = log((max(0.0, actual_wait_s) + SCALE_S) / (max(0.0, expected_wait_s) + SCALE_S))
        self._by_kind[_kind(expected_wait_s)].append(error)
        self._all.append(error)

    def to_json(self) -> dict[str, Any]:
        return {"share": self.share, "kinds": [list(kind) for kind in self._by_kind], "all": list(self._all)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Calibration":
        kinds = [deque(kind, maxlen=KEPT_ERRORS) for kind in data["kinds"]]
        if len(kinds) != len(EDGES_S) + 1:
            return cls(data["share"])  # written with other bounds: start again rather than mix groups
        return cls(data["share"], kinds, deque(data["all"], maxlen=KEPT_ERRORS))


def _wait_s(expected_wait_s: float, error: float) -> float:
    return max(0.0, (expected_wait_s + SCALE_S) * exp(error) - SCALE_S)


def _kind(expected_wait_s: float) -> int:
    return bisect_left(EDGES_S, expected_wait_s)
