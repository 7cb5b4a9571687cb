"""Strategies: how a gang weighs the domains that can hold all of it. Built-in ones, those of the settings, and plugins.

A strategy gives every domain a number (`points`), and the gang goes to the domain with the highest. Built-in strategies
and those of the settings weigh features (`domain_features`); `balanced` has the seeds' weights. A plugin (entry point
group `dovetail.strategies`) computes points from a `Prospect` in any way.
Guarantees: a strategy that settings name is built at start or refused there; a plugin that only a workload names is
built when it is first needed.
Left to others: what happens when one fails (`domain_choice`).
"""

from collections.abc import Iterator, Mapping
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
