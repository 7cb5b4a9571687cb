"""Buckets of many things that have the same few series, such as nodes or pairs of nodes: arrays, three bytes a value.

Pure. Each thing has a slot, which is its place in every bucket. A bucket keeps the mean of each value with about three
digits, and of how many samples it is (up to 255, more than a bucket gets at the usual pace): what is added later, or
joined into wider steps, has its proper weight. Where nothing was added the number is 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.control.trends.down_sampling import Steps, TrendTier
from dovetail.responses.trends import TrendAnswer

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Slots = npt.NDArray[np.intp]

VALUE = np.dtype([("mean", "<f2"), ("number", "u1")])
_MOST_SAMPLES = 255


@dataclass(frozen=True, slots=True)
class KeyedSeries:
    """What is kept of each thing, in which tiers, and of how many things at most. `described`: by name, title and
    unit."""

    described: Mapping[str, tuple[str, str]]
    tiers: tuple[TrendTier, ...]
    most_keys: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.described)

    @property
    def row_bytes(self) -> int:
        """Of one thing in one bucket."""
        return len(self.described) * VALUE.itemsize

    def bytes_at_most(self, keys: int, slack_s: float = 0.0) -> int:
        """Of so many things, in every bucket that is kept. `slack_s`: how long old ones may stay."""
        buckets = sum(int((tier.keep_s + slack_s) // tier.step_s) + 2 for tier in self.tiers)
        return min(keys, self.most_keys) * self.row_bytes * buckets

    def answer(self, steps: Steps, asked: Iterable[str] = ()) -> TrendAnswer:
        """`asked`: names of series; none: all."""
        wanted = set(asked)
        return {
            "from": float(steps.window.start),
            "step_s": float(steps.window.step_s),
            "times": steps.window.times,
            "series": {
                name: {"title": title, "unit": unit, "values": _three_digits(steps.values(name))}
                for name, (title, unit) in self.described.items()
                if not wanted or name in wanted
            },
            "groups": {},
        }


def _three_digits(values: list[float | None]) -> list[float | None]:
    return [None if one is None else float(f"{one:.3g}") for one in values]


class SlotBucket:
    """`sums` and `numbers` of samples: float64 and int64[slot, series]."""

    def __init__(self, sums: F8, numbers: I8) -> None:
        self.sums, self.numbers = sums, numbers

    @classmethod
    def empty(cls, series: int) -> "SlotBucket":
        return cls(np.zeros((0, series)), np.zeros((0, series), dtype=np.int64))

    @classmethod
    def read(cls, content: bytes, series: int) -> "SlotBucket":
        found = np.frombuffer(content, dtype=VALUE).reshape(-1, series)
        numbers = found["number"].astype(np.int64)
        return cls(found["mean"].astype(np.float64) * numbers, numbers)

    def written(self) -> bytes:
        found = np.zeros(self.sums.shape, dtype=VALUE)
        found["mean"] = np.clip(self.sums / np.maximum(self.numbers, 1), -_LARGEST, _LARGEST)
        found["number"] = np.minimum(self.numbers, _MOST_SAMPLES)
        return found.tobytes()

    def add(self, slots: Slots, values: F8) -> None:
        """A sample of each: `values` is float64[sample, series], nan where there is none. A slot may come twice."""
        if len(slots):
            self._widen(int(slots.max()) + 1)
            known = np.isfinite(values)
            np.add.at(self.sums, slots, np.where(known, values, 0.0))
            np.add.at(self.numbers, slots, known)

    def join(self, other: "SlotBucket") -> None:
        self._widen(len(other.sums))
        self.sums[: len(other.sums)] += other.sums
        self.numbers[: len(other.sums)] += other.numbers

    def total(self, slots: Slots) -> tuple[list[float], list[int]]:
        """By series, the sum and the number of samples of these."""
        there = slots[slots < len(self.sums)]
        return self.sums[there].sum(axis=0).tolist(), self.numbers[there].sum(axis=0).tolist()

    def _widen(self, slots: int) -> None:
        missing = slots - len(self.sums)
        if missing > 0:
            more = ((0, missing), (0, 0))
            self.sums, self.numbers = np.pad(self.sums, more), np.pad(self.numbers, more)


_LARGEST = float(np.finfo(np.float16).max)
