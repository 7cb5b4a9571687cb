"""Free capacity over time, if running work ends as expected and promises are kept.

A `RowProfile` is one node's free capacity as a step function. A `Horizon` is the whole cluster. Nodes without promises
only gain capacity as work ends, so they are walked in the order of those ends; a node with a promise gets a profile.
A horizon is built for one pass of the scheduler and thrown away. Left to others: who is promised what (`engine`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import merge
from math import ulp
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows

NEVER = float("inf")


class Release(NamedTuple):
    """Room that comes back: when, on which row, how much."""

    at: float
    row: int
    column: F8


@dataclass(frozen=True, slots=True)
class Slot:
    """When so many tasks could start together, and on which rows (one entry for each task)."""

    start: float
    rows: tuple[int, ...]


class RowProfile:
    """`free[i]` (float64[time, resource]) holds from `times[i]` to the next; the last without end."""

    def __init__(self, now: float, free: F8, releases: Iterable[tuple[float, F8]]) -> None:
        ends = sorted(releases, key=lambda release: release[0])
        times: F8 = np.array([now, *(max(at, now) for at, _ in ends)])
        steps = np.zeros((len(times), len(free)))
        steps[0] = free
        for i, (_, column) in enumerate(ends, 1):
            steps[i, : len(column)] = column
        last = np.append(times[1:] > times[:-1], True)  # of those at one moment: all of it comes back at once
        self.times: F8 = times[last]
        self.free: F8 = np.cumsum(steps, axis=0)[last]
        self._found: dict[tuple[bytes, float], float] = {}  # what `earliest` answered since the profile last changed
        self._stretches: dict[bytes, tuple[F8, F8]] = {}  # the same for `stretches`

    def copy(self) -> "RowProfile":
        found = RowProfile.__new__(RowProfile)
        found.times, found.free, found._found, found._stretches = self.times, self.free.copy(), {}, {}
        return found

    def room(self, start: float, end: float) -> F8:
        """float64[resource]: what is free all the time from start to end."""
        first = max(0, int(self.times.searchsorted(start, side="right")) - 1)
        last = max(first + 1, int(self.times.searchsorted(end, side="left")))
        least: F8 = self.free[first:last].min(axis=0)
        return least

    def earliest(self, column: F8, run_s: float) -> float:
        """The first moment from which the column fits for so long; NEVER if there is none."""
        question = column.tobytes(), run_s
        found = self._found.get(question)
        if found is None:
            found = self._found[question] = self._earliest(column, run_s)
        return found

    def _earliest(self, column: F8, run_s: float) -> float:
        needed = np.flatnonzero(column)  # of the others there may be less than nothing, where a node shrank
        fits: B1 = np.all(self.free[:, needed] >= column[needed], axis=1)
        if fits.all():
            return float(self.times[0])
        bad = np.flatnonzero(~fits)
        following = np.append(self.times[bad], NEVER)[bad.searchsorted(np.arange(len(fits)))]
        good = np.flatnonzero(fits & (following >= self.times + run_s))
        return float(self.times[good[0]]) if len(good) else NEVER

    def with_changes(self, changes: Iterable[tuple[float, F8]]) -> "RowProfile":
        """With so much more free from those moments on: as `occupy`, many at once."""
        steps = np.diff(self.free, axis=0)
        before = [(float(at), step) for at, step in zip(self.times[1:], steps, strict=True)]
        return RowProfile(float(self.times[0]), self.free[0], [*before, *changes])

    def least(self) -> float:
        """The least amount of anything that is ever free."""
        return float(self.free.min())

    def latest(self, column: F8, run_s: float, until: float) -> float | None:
        """The last moment, `until` at the latest, from which the column fits for so long; None if there is none."""
        begin, end = self.stretches(column)
        last = np.minimum(end - run_s, until)
        good = last >= begin
        return float(last[good].max()) if good.any() else None

    def stretches(self, column: F8) -> tuple[F8, F8]:
        """From when until when the column fits without a break: float64[stretch] each, in order."""
        question = column.tobytes()
        found = self._stretches.get(question)
        if found is None:
            needed = np.flatnonzero(column)
            fits = np.zeros(len(self.times) + 2, dtype=np.int8)
            fits[1:-1] = np.all(self.free[:, needed] >= column[needed], axis=1)
            steps = np.diff(fits)
            bounds = np.append(self.times, NEVER)
            found = self._stretches[question] = bounds[steps == 1], bounds[steps == -1]
        return found

    def occupy(self, start: float, end: float, column: F8) -> None:
        """Take the column out of the time from start to end."""
        self._found.clear()
        self._stretches.clear()
        first, last = self._cut(start), len(self.times) if end == NEVER else self._cut(end)
        self.free[first:last, : len(column)] -= column

    def _cut(self, at: float) -> int:
        """The index of the step that begins at this moment, made if there is none."""
        if at <= self.times[0]:
            return 0
        i = int(self.times.searchsorted(at))
        if i == len(self.times) or self.times[i] != at:
            self.times = np.insert(self.times, i, at)
            self.free = np.insert(self.free, i, self.free[i - 1], axis=0)
        return i


class Horizon:
    def __init__(
        self, free: F8, now: float, releases: Iterable[Release], on_row: Callable[[int], Iterable[tuple[float, F8]]]
    ) -> None:
        """`free` (float64[resource, node]) is what is free now; `releases` of all rows by time, none before now;
        `on_row` those of one row."""
        self.now = now
        self._free = free
        self._releases = releases
        self._on_row = on_row
        self.profiles: dict[int, RowProfile] = {}

    def profile(self, row: int) -> RowProfile:
        found = self.profiles.get(row)
        if found is None:
            found = self.profiles[row] = RowProfile(self.now, self._free[:, row], self._on_row(row))
        return found

    def occupy(self, row: int, start: float, end: float, column: F8) -> None:
        self.profile(row).occupy(start, end, column)

    def earliest(self, mask: B1, column: F8, count: int, run_s: float) -> Slot | None:
        """When `count` tasks of `column` could start together on the rows of the mask and run so long."""
        return self._one(mask, column, run_s) if count == 1 else self._many(mask, column, count, run_s)

    def _one(self, mask: B1, column: F8, run_s: float) -> Slot | None:
        best, at = NEVER, -1
        for row in sorted(self.profiles):
            if mask[row] and (start := self.profiles[row].earliest(column, run_s)) < best:
                best, at = start, row
        needed = np.flatnonzero(column)
        amounts = column[needed]
        now_fits = (self._free[needed] >= amounts[:, None]).all(axis=0) & mask
        now_fits[list(self.profiles)] = False
        if now_fits.any() and best > self.now:
            return Slot(self.now, (int(now_fits.argmax()),))
        gained: dict[int, F8] = {}
        for release in self._releases:
            if release.at >= best:
                break
            row = release.row
            if not mask[row] or row in self.profiles:
                continue
            free = gained.get(row)
            if free is None:
                free = gained[row] = self._free[:, row].copy()
            free[: len(release.column)] += release.column
            if (free[needed] >= amounts).all():
                return Slot(release.at, (row,))
        return None if best == NEVER else Slot(best, (at,))

    def _many(self, mask: B1, column: F8, count: int, run_s: float) -> Slot | None:
        needed = np.flatnonzero(column)
        amounts = column[needed]
        fits = _copies(self._free[needed].T, amounts)
        fits[~mask] = 0
        for row in self.profiles:
            fits[row] = self._copies_at(row, self.now, run_s, needed, amounts) if mask[row] else 0
        total = int(fits.sum())
        start = self.now
        gained: dict[int, F8] = {}
        for at, row, gain in merge(self._releases, self._moments(mask, run_s), key=lambda step: step[0]):
            if total >= count and at > start:  # everything of that moment has come back
                break
            if not mask[row] or (row in self.profiles) is (gain is not None):
                continue
            if gain is None:
                found = self._copies_at(row, at, run_s, needed, amounts)
            else:
                free = gained.get(row)
                if free is None:
                    free = gained[row] = self._free[:, row].copy()
                free[: len(gain)] += gain
                found = int(_copies(free[needed], amounts))
            total += found - int(fits[row])
            fits[row] = found
            start = at
        return Slot(start, _spread(fits, count)) if total >= count else None

    def _moments(self, mask: B1, run_s: float) -> list[tuple[float, int, None]]:
        """When the answer of a row with promises may change: at its steps, and when a task begun a little later would
        run into one."""
        found = []
        for row, profile in self.profiles.items():
            if mask[row]:
                times = profile.times.tolist()
                found += [(at, row, None) for at in times[1:]]
                # So much later that it is later still when the run time is added again.
                late = (at - run_s + 2 * ulp(at) for at in times[1:])
                found += [(at, row, None) for at in late if at > self.now]
        return sorted(found, key=lambda step: step[:2])

    def _copies_at(self, row: int, start: float, run_s: float, needed: Rows, amounts: F8) -> int:
        return int(_copies(self.profiles[row].room(start, start + run_s)[needed], amounts))


def _copies(free: F8, amounts: F8) -> F8:
    """How many times the amounts fit, over the last axis."""
    found: F8 = np.floor(np.maximum(free, 0.0) / amounts).min(axis=-1)
    return found


def _spread(fits: F8, count: int) -> tuple[int, ...]:
    """The rows that take most first, so that a gang touches few nodes."""
    rows: list[int] = []
    for row in np.argsort(-fits, kind="stable").tolist():
        rows += [row] * min(int(fits[row]), count - len(rows))
        if len(rows) == count:
            break
    return tuple(rows)
