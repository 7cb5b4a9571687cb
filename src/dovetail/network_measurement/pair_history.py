"""Statistics of one pair of nodes: round-trip time, loss and bandwidth, smoothed, and what was made known of them.

Round-trip times of three rounds are kept: their median is the current one, so that one odd round changes nothing and a
lasting change counts from its second round on. What is made known (`settled`) changes only when the current value is
clearly another: small differences would wake the scheduler again and again.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

ROUNDS = 3
SAMPLES = 128
TRAINS = 3
#: How much of the counts of packets is kept from round to round: a loss is forgotten after some 20 rounds.
KEPT_OF_COUNTS = 0.95
#: After so many rounds without an answer there is no way between two that answered before.
SILENT_ROUNDS = 2
#: What is clearly another: a share of the value, and at least so much.
RTT_SHARE, RTT_LEAST_US = 0.1, 20.0
LOSS_SHARE, LOSS_LEAST = 0.5, 0.01
BANDWIDTH_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class SettledPair:
    """What counts for distances. `rtt_us` is infinite where no packet comes through; `mbps` is None where bandwidth was
    not measured."""

    rtt_us: float
    loss: float
    mbps: float | None


@dataclass(frozen=True, slots=True)
class PairFigures:
    """For people. Times of day are in seconds. `at_least`: the sender was not fast enough to fill the link."""

    rtt_min_us: float | None
    rtt_median_us: float | None
    rtt_p99_us: float | None
    loss: float
    mbps: float | None
    at_least: bool
    measured_at: float


class PairHistory:
    def __init__(self) -> None:
        self.settled: SettledPair | None = None
        self.measured_at = 0.0
        self.train_at: float | None = None
        self._rounds: deque[float] = deque(maxlen=ROUNDS)
        self._samples: deque[float] = deque(maxlen=SAMPLES)
        self._trains: deque[tuple[float, bool]] = deque(maxlen=TRAINS)
        self._sent = self._lost = 0.0
        self._silent = 0

    def add_round(self, rtts_us: Sequence[float], sent: int, at: float) -> bool:
        """The answers of one round. Returns whether what counts for distances has changed."""
        self.measured_at = at
        self._sent = self._sent * KEPT_OF_COUNTS + sent
        self._lost = self._lost * KEPT_OF_COUNTS + max(sent - len(rtts_us), 0)
        if rtts_us:
            self._silent = 0
            self._rounds.append(median(rtts_us))
            self._samples.extend(rtts_us)
        elif sent:
            self._silent += 1
        return self._settle()

    def add_train(self, mbps: float, at: float, *, at_least: bool) -> bool:
        """The bandwidth that one train saw. Returns whether what counts for distances has changed."""
        self.train_at = at
        self._trains.append((mbps, at_least))
        return self._settle()

    @property
    def loss(self) -> float:
        return self._lost / self._sent if self._sent else 0.0

    @property
    def mbps(self) -> float | None:
        """The median of the last ones: other traffic slows a train down, a busy switch or receiver squeezes it."""
        return median(mbps for mbps, _ in self._trains) if self._trains else None

    def figures(self) -> PairFigures:
        ordered = sorted(self._samples)
        at_least = bool(self._trains) and all(flag for mbps, flag in self._trains if mbps >= (self.mbps or 0.0))
        others = (self.loss, self.mbps, at_least, self.measured_at)
        if not ordered:
            return PairFigures(None, None, None, *others)
        return PairFigures(ordered[0], median(ordered), ordered[math.ceil(0.99 * len(ordered)) - 1], *others)

    def _settle(self) -> bool:
        now = self._current()
        if now is None:
            return False
        before = self.settled
        if before is None:
            self.settled = now
            return True
        settled = before
        if _is_another(before.rtt_us, now.rtt_us, RTT_SHARE, RTT_LEAST_US):
            settled = replace(settled, rtt_us=now.rtt_us)
        if _is_another(before.loss, now.loss, LOSS_SHARE, LOSS_LEAST):
            settled = replace(settled, loss=now.loss)
        if now.mbps is not None and (
            before.mbps is None or _is_another(before.mbps, now.mbps, BANDWIDTH_SHARE, least=0.0)
        ):
            settled = replace(settled, mbps=now.mbps)
        self.settled = settled
        return settled is not before

    def _current(self) -> SettledPair | None:
        was_answered = bool(self._rounds) or self.settled is not None
        if self._silent >= SILENT_ROUNDS and was_answered:  # else nothing is known: a firewall may drop all probes
            return SettledPair(math.inf, 1.0, self.mbps)
        return SettledPair(median(self._rounds), self.loss, self.mbps) if self._rounds else None


def _is_another(before: float, now: float, share: float, least: float) -> bool:
    if math.isinf(before) or math.isinf(now):
        return before != now
    return abs(now - before) > max(share * before, least)
