"""A number over time, averaged exactly over a bounded number of equal spans.

Guarantees: `mean` and `peak` are exact. When the run outgrows its spans, neighbours are merged and spans get twice as
long, so a run of a minute and one of a year both end with at most `SPANS` of them. How long spans are depends on the
time alone: timelines that start and end together have the same ones.
"""

from dataclasses import dataclass, field

SPANS = 128
FIRST_SPAN_S = 1.0


@dataclass(slots=True)
class Timeline:
    """A step function from 0 on: the value holds from one `set` to the next."""

    now: float = 0.0
    value: float = 0.0
    peak: float = 0.0
    span_s: float = FIRST_SPAN_S
    _span_ends: float = FIRST_SPAN_S
    _areas: list[float] = field(default_factory=lambda: [0.0])  # value times seconds, one a span

    def set(self, value: float, now: float) -> None:
        """From `now` on it is `value`. Time does not go back."""
        if value != self.value:
            self.advance(now)
            self.value = value
            self.peak = max(self.peak, value)

    def advance(self, now: float) -> None:
        """Account for the time until `now` at the present value."""
        while now > self._span_ends:
            self._fill(self._span_ends)
            if len(self._areas) == SPANS:
                self._areas = [sum(self._areas[index : index + 2]) for index in range(0, SPANS, 2)]
                self.span_s *= 2
            self._areas.append(0.0)
            self._span_ends = len(self._areas) * self.span_s
        if now > self.now:
            self._fill(now)

    def _fill(self, until: float) -> None:
        self._areas[-1] += self.value * (until - self.now)
        self.now = until

    @property
    def mean(self) -> float:
        return sum(self._areas) / self.now if self.now > 0 else self.value

    def samples(self) -> list[float]:
        """The mean of each span, in order; the last span may not be over."""
        *whole, last = self._areas
        covered_s = self.now - len(whole) * self.span_s
        return [area / self.span_s for area in whole] + [last / covered_s if covered_s > 0 else self.value]
