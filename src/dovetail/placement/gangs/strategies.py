"""Strategies: how a gang weighs the domains that can hold all of it, and which of them it goes to.

A strategy gives every domain a number (`points`), and the gang goes to the domain with the highest. Built-in strategies
and those of the settings weigh features (`domain_features`); `balanced` has the seeds' weights. A plugin (entry point
group `dovetail.strategies`) computes points from a `Prospect` in any way.
Guarantees: a strategy that settings name is built at start or refused there; a plugin that only a workload names is
built when it is first needed.
If a plugin fails, or does not return one number a domain, it is named and `balanced` chooses. Ties go to the domain
with the lowest row.
Left to others: which domains can hold the gang, and which nodes in the domain it gets.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.model.plugin_loading import PluginError
from dovetail.placement.gangs.domain_features import (
    ALIGNMENT,
    AVAILABILITY,
    BANDWIDTH,
    EXCHANGED_BYTES,
    HISTORY,
    LATENCY,
    NEARNESS,
    TIGHTNESS,
    UTILISATION,
    Prospect,
)
from dovetail.placement.pipeline.evaluation import MOST_POINTS
from dovetail.placement.registry import build_strategy, outside_strategies

BALANCED, PACK = "balanced", "pack"
Weights = Mapping[str, float]
STRATEGIES: dict[str, Weights] = {
    BALANCED: {AVAILABILITY: 40, ALIGNMENT: 30, UTILISATION: 20, HISTORY: 10},
    # What is left of the domain should be small, so that large gangs find whole domains.
    PACK: {TIGHTNESS: 60, UTILISATION: 20, ALIGNMENT: 10, HISTORY: 10},
    "spread": {AVAILABILITY: 80, HISTORY: 20},
    # A little for alignment: it tells which of many domains are worth comparing.
    "latency": {LATENCY: 60, ALIGNMENT: 10, NEARNESS: 20, HISTORY: 10},
    "bandwidth": {BANDWIDTH: 60, ALIGNMENT: 10, AVAILABILITY: 20, HISTORY: 10},
    "fragmentation": {TIGHTNESS: 90, HISTORY: 10},
}


class Strategy(Protocol):
    """A plugin also has a `Settings` class, for what the settings give under `strategies` and its name."""

    @property
    def name(self) -> str: ...

    def points(self, prospect: Prospect) -> F8:
        """float64[domain]: more is better; of equals the first domain is taken."""
        ...


class WeightedStrategy:
    """A weighted sum of features. Expensive features are computed only in the domains that are best by the others."""

    def __init__(self, name: str, weights: Weights) -> None:
        self.name, self.weights = name, weights
        self.compares = any(feature in EXCHANGED_BYTES for feature in weights)
        self.most = sum(map(abs, weights.values()))

    def points(self, prospect: Prospect) -> F8:
        total = np.zeros(prospect.domains)
        for feature, weight in self.weights.items():
            if feature not in EXCHANGED_BYTES:
                total += weight * prospect.feature(feature)
        if not self.compares:
            return total
        prospect.compare(total)
        compared = np.zeros(prospect.domains, dtype=np.bool_)
        compared[prospect.compared] = True
        for feature, weight in self.weights.items():
            if feature in EXCHANGED_BYTES:
                # Nothing that was not compared may come out ahead because of that.
                total += weight * np.where(compared, prospect.feature(feature), 1.0 if weight < 0 else 0.0)
        return total


class StrategyBook(Mapping[str, Strategy]):
    """All strategies by name. `chosen` are those of the settings: weights, or settings of plugins."""

    def __init__(self, chosen: Mapping[str, Mapping[str, Any]], used: str | None = None) -> None:
        outside = outside_strategies()
        weighed = {**STRATEGIES, **{name: given for name, given in chosen.items() if name not in outside}}
        self._built: dict[str, Strategy] = {name: WeightedStrategy(name, weights) for name, weights in weighed.items()}
        self._given = {name: dict(chosen.get(name, {})) for name in outside}
        self._names = (*self._built, *outside)
        for name in outside:
            if name in chosen or name == used:
                self._built[name] = build_strategy(name, self._given[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Strategy:
        """Raises KeyError, or PluginError for one that cannot be built."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._built:
            self._built[name] = build_strategy(name, self._given[name])
        return self._built[name]

    def or_balanced(self, name: str) -> tuple[Strategy, tuple[str, ...]]:
        """The strategy, or `balanced` and why. Work that was submitted earlier may name a strategy that is gone."""
        try:
            return self[name], ()
        except KeyError:
            return self[BALANCED], (f"there is no strategy {name!r} any more: {BALANCED} was used",)
        except PluginError as error:
            return self[BALANCED], (f"{error}: {BALANCED} was used",)


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

    def in_short(self, chosen: int, named: Callable[[int], str]) -> str:
        """`chosen by strategy pack with 85 points (next: rack c, 60)`"""
        others = np.where(np.arange(len(self.points)) == chosen, -np.inf, self.points)
        second = int(others.argmax())
        if others[second] == -np.inf:
            return f"the only {self.prospect.level} that holds all of it"
        by = f"chosen by strategy {self.strategy.name} with {self.points[chosen]:.3g} points"
        quicker = "; quicker all-reduce" if self.by_exchange else ""
        return f"{by} (next: {named(second)}, {self.points[second]:.3g}{quicker})"

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
    """The domain with the most points wins; where several are close together (within `NEAR` of the sum of weights) and
    the strategy does not look at communication itself, the quickest all-reduce. At least one domain holds the gang."""
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
