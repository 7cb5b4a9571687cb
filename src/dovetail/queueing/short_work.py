"""Decides whether work that fits should wait, because short work that is expected soon would profit more.

Both alternatives are estimated. If the work starts now, arrivals that no longer fit wait for the next ends. If it
starts at the next end, they need not, but the work itself and the pending queue behind it lose that time. The cost of a
second of delay is 1 / run time for each delayed task, which is its slowdown. How much short work to expect is learned
from arrivals, by width. Old arrivals fade, so the expectation can fall as well as rise.
Guarantees: without arrivals or running work nothing is held back; the same calls give the same answers; the state is
72 numbers and one entry for each running workload.
A workload is only its share of the cluster here: nodes are left to others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from math import inf, log, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.queueing.run_times import extended_estimate_s
from dovetail.queueing.sorted_entries import QueueEntry

Floats = NDArray[np.float64]

SHORTEST_S = 10.0
"""Shorter run times count as this, as in the bounded slowdown."""
#: The assumed run time of work that declares none: one day.
UNDECLARED_RUN_S = 86_400.0
HALF_LIFE_S = 30 * 86_400.0
"""After this time an arrival counts half."""
WIDTHS = 24
"""Width classes: two for each halving of the cluster, the last for work that needs all of it."""
LEAST_SEEN_S = 3_600.0
"""Rates are taken over at least this time, so that the first arrivals say little."""
TOLERANCE = 1e-9
"""Shares are quotients: rounding must not push one over a limit."""


def run_s_of(entry: QueueEntry) -> float:
    """The run time that orders use: predicted, else declared, else a day."""
    expected_s = entry.expected_s if entry.expected_s is not None else entry.run_s
    return UNDECLARED_RUN_S if expected_s is None else max(1.0, expected_s)


def urgency(run_s: float) -> float:
    """The slowdown that one second of delay costs."""
    return 1.0 / max(run_s, SHORTEST_S)


@dataclass(slots=True)
class FadingSums:
    """Sums in which older values count less, and the time they were collected in, faded alike."""

    sums: Floats
    half_life_s: float = HALF_LIFE_S
    seen_s: float = 0.0
    _until: float | None = None

    def fade(self, now: float) -> None:
        passed_s = 0.0 if self._until is None else max(0.0, now - self._until)
        self._until = now
        kept = 2.0 ** (-passed_s / self.half_life_s)
        self.sums *= kept
        self.seen_s = self.seen_s * kept + (1.0 - kept) * self.half_life_s / log(2.0)

    def to_json(self) -> dict[str, Any]:
        return {"sums": self.sums.tolist(), "seen_s": self.seen_s, "until": self._until}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "FadingSums":
        return cls(np.array(data["sums"], dtype=np.float64), seen_s=data["seen_s"], _until=data["until"])


@dataclass(frozen=True, slots=True)
class _Running:
    started_at: float
    share: float
    expected_s: float
    declared_s: float | None

    def ends_at(self, now: float) -> float:
        end = self.started_at + self.expected_s
        if end > now:
            return end
        estimate_s = extended_estimate_s(self.expected_s, now - self.started_at, self.declared_s)
        return max(now + 1.0, self.started_at + estimate_s)


@dataclass(slots=True)
class ShortWork:
    """Call `look` before `profits`. `now` must never decrease. Deterministic."""

    _arrivals: FadingSums = field(default_factory=lambda: FadingSums(np.zeros((3, WIDTHS))))
    """By width class: urgency, number, share."""
    _running: dict[int, _Running] = field(default_factory=dict)
    _now: float = 0.0
    _ends: Floats = field(default_factory=lambda: np.zeros(0))
    _freed: Floats = field(default_factory=lambda: np.zeros(0))
    """Together with `_ends`: the share that has come back by then."""
    _widths: Floats = field(default_factory=lambda: np.zeros(0))
    _rates: Floats = field(default_factory=lambda: np.zeros(0))
    """By width: the urgency that arrives in a second."""
    _pending_urgency: float = 0.0
    _backlog_s: float = 0.0

    def arrived(self, now: float, entry: QueueEntry) -> None:
        self._arrivals.fade(now)
        self._arrivals.sums[:, _width_class(entry.share)] += (urgency(run_s_of(entry)), 1.0, entry.share)

    def started(self, now: float, entry: QueueEntry) -> None:
        self._running[entry.id] = _Running(now, entry.share, run_s_of(entry), entry.run_s)

    def ended(self, workload: int) -> None:
        self._running.pop(workload, None)

    def to_json(self) -> dict[str, Any]:
        """What a restart needs. The rest is noted by the next `look`."""
        return {
            "arrivals": self._arrivals.to_json(),
            "running": [[id_, *astuple(one)] for id_, one in self._running.items()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ShortWork":
        running = {id_: _Running(*values) for id_, *values in data["running"]}
        return cls(FadingSums.from_json(data["arrivals"]), running)

    def look(self, now: float, pending: Iterable[QueueEntry]) -> None:
        """Note what runs, what waits and what is expected, for the decisions of this cycle."""
        self._now = now
        ends = sorted((one.ends_at(now), one.share) for one in self._running.values())
        self._ends = np.array([at for at, _ in ends])
        self._freed = np.cumsum([share for _, share in ends])
        self._pending_urgency = self._backlog_s = 0.0
        for entry in pending:
            run_s = run_s_of(entry)
            self._pending_urgency += urgency(run_s)
            self._backlog_s += entry.share * run_s
        self._arrivals.fade(now)
        urgencies, number, shares = self._arrivals.sums
        seen = number > 0.0
        self._widths = shares[seen] / number[seen]
        self._rates = urgencies[seen] / max(self._arrivals.seen_s, LEAST_SEEN_S)

    def profits(self, entry: QueueEntry, share: float, free: float) -> bool:
        """Would short work profit more than is lost, if the entry, which fits now and takes `share` of the `free`
        share, started only at the next end?"""
        if not len(self._ends):
            return False
        return self._gain(entry, share, free) > self._loss(entry, share)

    def _loss(self, entry: QueueEntry, share: float) -> float:
        """The work itself waits, and its share of that time is lost to all others that wait, or that arrive before the
        others are worked off."""
        run_s = run_s_of(entry)
        arriving = float(self._rates.sum()) * max(0.0, self._backlog_s - entry.share * run_s)
        others = self._pending_urgency - urgency(run_s) + arriving
        return float(self._ends[0] - self._now) * (urgency(run_s) + share * others)

    def _gain(self, entry: QueueEntry, share: float, free: float) -> float:
        concerned = self._widths > free - share + TOLERANCE
        if not concerned.any():
            return 0.0
        widths, rates = self._widths[concerned], self._rates[concerned]
        fits_without, fits_beside = self._fits_at(widths, free), self._fits_at(widths + share, free)
        run_s = max(run_s_of(entry), SHORTEST_S)
        gain = _delayed(self._now, run_s, fits_without, fits_beside)
        gain -= _delayed(float(self._ends[0]), run_s, fits_without, fits_beside)
        return float(rates @ gain)

    def _fits_at(self, widths: Floats, free: float) -> Floats:
        """When so much will be free."""
        times = np.concatenate(([self._now], self._ends, [inf]))
        return times[np.concatenate(([free], free + self._freed)).searchsorted(widths - TOLERANCE)]


def _delayed(start: float, run_s: float, fits_without: Floats, fits_beside: Floats) -> Floats:
    """The sum of waits that work started at `start` causes, by width, if one task arrives in a second: arrivals that
    would fit without it wait until it ends, or until they fit beside it."""
    until = np.minimum(start + run_s, fits_beside)
    anyway = np.maximum(0.0, np.minimum(fits_without, until) - start)
    return np.asarray((np.maximum(0.0, until - start) ** 2 - anyway**2) / 2.0, dtype=np.float64)


def _width_class(share: float) -> int:
    return max(0, min(WIDTHS - 1, int(WIDTHS - 1 + 2.0 * log2(share)))) if share > 0.0 else 0
