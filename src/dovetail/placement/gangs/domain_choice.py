"""Which domain a gang goes to, of those that can hold all of it, and the words that explain it.

The domain with the most points of the strategy wins. Where points are close together (within `NEAR` of the sum of
weights) and the strategy does not look at communication itself, the quickest all-reduce among them decides.
Guarantees: ties go to the domain with the lowest row. If a plugin fails, or does not return one number a domain, it is
named and `balanced` chooses.
Left to others: which domains can hold the gang, and which nodes in the domain it gets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.gangs.domain_features import BANDWIDTH, EXCHANGED_BYTES, Prospect
from dovetail.placement.gangs.strategies import BALANCED, Strategy, WeightedStrategy
from dovetail.placement.pipeline.evaluation import MOST_POINTS

NEAR = 0.01
MOST_NEAR = 4
#: Exchanges that differ by less than that are alike: the estimate is not better.
ALIKE = 0.01


@dataclass(slots=True)
class Ranking:
    """The domains of one tier as one strategy rates them. `points` are -inf where a domain cannot hold the gang."""

    prospect: Prospect
    strategy: Strategy
    points: F8
    best: int
    by_exchange: bool
    notes: tuple[str, ...]

    def order(self) -> list[int]:
        """Domains that can hold the gang, the best first."""
        found = [domain for domain in np.argsort(-self.points, kind="stable").tolist() if domain != self.best]
        return [self.best, *(domain for domain in found if self.points[domain] > -np.inf)]

    def words(self, chosen: int, named: Callable[[int], str]) -> str:
        """`strategy pack: rack b has 85 of 100 points (tightness 1, …), rack c 60 (…)`"""
        others = np.where(np.arange(len(self.points)) == chosen, -np.inf, self.points)
        second = int(others.argmax())
        start = f"strategy {self.strategy.name}"
        if others[second] == -np.inf:
            return f"{start}: no other {self.prospect.level} holds all of it"
        one, other = self._worth(chosen), self._worth(second)
        found = f"{start}: {named(chosen)} has {one}, {named(second)} {other}"
        return f"{found}; near enough for the quicker all-reduce to decide" if self.by_exchange else found

    def _worth(self, domain: int) -> str:
        points = f"{self.points[domain]:.3g} points"
        if not isinstance(self.strategy, WeightedStrategy):
            return points
        values = [f"{name} {self.prospect.feature(name)[domain]:.2g}" for name in self.strategy.weights]
        return f"{points} ({', '.join(values)})"


@dataclass(slots=True)
class Judged:
    """Points of all domains, the strategy that gave them, and what went wrong before."""

    points: F8
    strategy: Strategy
    notes: tuple[str, ...]


def judge(prospect: Prospect, strategy: Strategy, balanced: Strategy) -> Judged:
    if isinstance(strategy, WeightedStrategy):
        return Judged(strategy.points(prospect), strategy, ())
    try:
        return Judged(_checked(strategy.points(prospect), prospect.domains), strategy, ())
    except Exception as error:  # a plugin may raise anything; it is named and the decision goes on
        words = f"strategy {strategy.name!r} failed: {type(error).__name__}: {error}; {BALANCED} was used"
        return Judged(balanced.points(prospect), balanced, (words,))


def rank_domains(prospect: Prospect, strategy: Strategy, balanced: Strategy) -> Ranking:
    """At least one domain holds the gang."""
    judged = judge(prospect, strategy, balanced)
    points = np.where(prospect.holding, judged.points, -np.inf)
    first = best = int(points.argmax())
    by = judged.strategy
    # Where there are only nodes inside, `alignment` and `tightness` have said what there is to say.
    if (
        isinstance(by, WeightedStrategy)
        and not by.compares
        and prospect.differs_by_exchange
        and prospect.has_levels_inside
    ):
        best = _quickest(prospect, points, first, NEAR * by.most)
    return Ranking(prospect, by, points, best, best != first, judged.notes)


def _quickest(prospect: Prospect, points: F8, best: int, near: float) -> int:
    """Of the domains with nearly as many points as the best, the one where ranks exchange data quickest."""
    close = np.flatnonzero(points >= points[best] - near)
    if len(close) < 2:
        return best
    close = close[np.argsort(-points[close], kind="stable")[:MOST_NEAR]]
    size = EXCHANGED_BYTES[BANDWIDTH]
    first_s = prospect.exchange_s(best, size)
    found = best
    for domain in close.tolist():
        seconds = prospect.exchange_s(domain, size)
        if seconds is not None and first_s is not None and seconds < first_s * (1.0 - ALIKE):
            found, first_s = domain, seconds
    return found


def _checked(answer: Any, domains: int) -> F8:
    array = np.asarray(answer)
    if array.shape != (domains,):
        raise ValueError(f"returned shape {array.shape}, one entry a domain would be ({domains},)")
    numbers = array.astype(np.float64)
    if not (np.abs(numbers) <= MOST_POINTS).all():
        raise ValueError(f"returned NaN, infinite points or points beyond {MOST_POINTS:g}")
    return numbers
