"""Down-sampling: samples are added into buckets of three widths, and buckets are joined into the steps of an answer.

Pure. A bucket keeps the sum and the number of what was added to each series, or the highest value where a mean would
hide what matters. Guarantees: a mean over wider buckets is exactly the mean of all samples in them, whatever lay in
between; where nothing was added there is no value, never a zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor

Bucket = dict[str, tuple[float, int]]  # by series: sum and number of samples


@dataclass(frozen=True, slots=True)
class TrendTier:
    """Buckets of `step_s` seconds, kept for `keep_s` seconds."""

    step_s: int
    keep_s: int

    def start(self, at: float) -> int:
        """Where the bucket of a moment begins."""
        return floor(at / self.step_s) * self.step_s


TIERS = (TrendTier(10, 3600), TrendTier(60, 24 * 3600), TrendTier(900, 30 * 24 * 3600))

#: Series of which the highest value counts: the mean of percentiles is no percentile.
HIGHEST = frozenset({"decision_p99"})


def add(bucket: Bucket, samples: Mapping[str, float]) -> None:
    for name, value in samples.items():
        join(bucket, name, (value, 1))


def join(bucket: Bucket, name: str, more: tuple[float, int]) -> None:
    """What another bucket has of a series comes to this one."""
    before = bucket.get(name)
    if before is None:
        bucket[name] = more
    elif name in HIGHEST:
        bucket[name] = max(before, more)
    else:
        bucket[name] = (before[0] + more[0], before[1] + more[1])


def value(name: str, entry: tuple[float, int]) -> float:
    return entry[0] if name in HIGHEST else entry[0] / entry[1]


@dataclass(frozen=True, slots=True)
class TrendWindow:
    """The steps of an answer: `count` of them, `step_s` seconds each, from `start` on; made of buckets of `tier`."""

    tier: TrendTier
    start: int
    step_s: int
    count: int

    @property
    def times(self) -> list[float]:
        return [float(self.start + i * self.step_s) for i in range(self.count)]


def window(now: float, since_s: float, points: int, tiers: Sequence[TrendTier] = TIERS) -> TrendWindow:
    """The last so many seconds, in so many steps or fewer: each a multiple of the finest buckets that reach so far
    back."""
    tier = next((one for one in tiers if since_s <= one.keep_s), tiers[-1])
    since_s = min(since_s, tier.keep_s)
    step_s = max(1, ceil(since_s / points / tier.step_s)) * tier.step_s
    last = floor(now / step_s) * step_s
    count = max(1, min(points, ceil(since_s / step_s)))
    return TrendWindow(tier, last - (count - 1) * step_s, step_s, count)


@dataclass(slots=True)
class Steps:
    """Series over a window, filled bucket by bucket."""

    window: TrendWindow
    series: dict[str, list[tuple[float, int] | None]] = field(default_factory=dict)

    def take(self, start: int, bucket: Mapping[str, tuple[float, int]]) -> None:
        place = (start - self.window.start) // self.window.step_s
        if not 0 <= place < self.window.count:
            return
        for name, entry in bucket.items():
            found = self.series.get(name)
            if found is None:
                found = self.series[name] = [None] * self.window.count
            here = found[place]
            if here is None:
                found[place] = entry
            else:
                both = {name: here}
                join(both, name, entry)
                found[place] = both[name]

    def values(self, name: str) -> list[float | None]:
        """Null where nothing was recorded."""
        found = self.series.get(name)
        if found is None:
            return [None] * self.window.count
        return [None if entry is None else value(name, entry) for entry in found]


def largest(series: Mapping[str, list[float | None]], most: int, others: str) -> dict[str, list[float | None]]:
    """The largest so many of them, and the others added up as one."""

    def size(name: str) -> float:
        return sum(one for one in series[name] if one is not None)

    named = sorted((name for name in series if name != others), key=lambda name: (-size(name), name))
    found = {name: series[name] for name in named[:most]}
    rest = [series[name] for name in (*named[most:], *([others] if others in series else ()))]
    if rest:
        found[others] = [_added(column) for column in zip(*rest, strict=True)]
    return found


def _added(column: Iterable[float | None]) -> float | None:
    there = [one for one in column if one is not None]
    return sum(there) if there else None
