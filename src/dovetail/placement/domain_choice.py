"""Which domain a gang goes to, of those that hold all of it: weighted features, one number a domain each.

The strategy `balanced` has the seeds' weights: 40 availability, 30 alignment, 20 utilisation, 10 history. Others weigh
the same features otherwise; settings may add more. Guarantees: all features are in [0, 1]; ties go to the domain with
the lowest row. Left to others: which domains hold it, and which nodes in the domain it gets.
"""

from collections.abc import Mapping

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.view import View
from dovetail.placement.contract import Request
from dovetail.placement.scores.shares import requested
from dovetail.placement.tiers import Tiers

AVAILABILITY, ALIGNMENT, UTILISATION = "availability", "alignment", "utilisation"
HISTORY, TIGHTNESS, NEARNESS = "history", "tightness", "nearness"
FEATURES = (AVAILABILITY, ALIGNMENT, UTILISATION, HISTORY, TIGHTNESS, NEARNESS)

Weights = Mapping[str, float]
STRATEGIES: dict[str, Weights] = {
    "balanced": {AVAILABILITY: 40, ALIGNMENT: 30, UTILISATION: 20, HISTORY: 10},
    # What is left of the domain should be small, so that large gangs find whole domains.
    "pack": {TIGHTNESS: 60, UTILISATION: 20, ALIGNMENT: 10, HISTORY: 10},
    "spread": {AVAILABILITY: 80, HISTORY: 20},
    "latency": {ALIGNMENT: 60, NEARNESS: 30, HISTORY: 10},
    "bandwidth": {AVAILABILITY: 40, ALIGNMENT: 50, HISTORY: 10},
    "fragmentation": {TIGHTNESS: 90, HISTORY: 10},
}


class Prospect:
    """One gang's view of the domains of a tier. `copies`: tasks that each node could take."""

    def __init__(self, request: Request, view: View, tiers: Tiers, tier: int, copies: F8, count: int) -> None:
        self._request, self._view = request, view
        self._tiers, self._tier, self._at = tiers, tiers[tier], tier
        self._copies, self._count = copies, count

    def points(self, weights: Weights) -> F8:
        """float64[domain]"""
        total = np.zeros(self._tier.count)
        for feature, weight in weights.items():
            total += weight * getattr(self, f"_{feature}")()
        return total

    def _availability(self) -> F8:
        """The free share of what is scarcest there of what is asked for."""
        lowest: F8 = np.ones(self._tier.count)
        for resource in requested(self._request):
            free, capacity = self._view.free(resource), self._view.capacity(resource)
            if free is None or capacity is None:
                return np.zeros(self._tier.count)
            lowest = np.minimum(lowest, self._share(np.maximum(free, 0.0), capacity))
        return lowest

    def _utilisation(self) -> F8:
        """The share that others use: of equals the fuller, so that whole domains stay free for large gangs."""
        return 1.0 - self._availability()

    def _alignment(self) -> F8:
        """How much of the gang one domain of the next level holds."""
        if self._at + 1 == len(self._tiers):
            return np.ones(self._tier.count)
        below = self._tiers[self._at + 1]
        held = np.zeros(self._tier.count)
        np.maximum.at(held, below.parents, below.sums(self._copies))
        return np.minimum(held / self._count, 1.0)

    def _tightness(self) -> F8:
        """How much of what the domain holds the gang takes."""
        return np.minimum(self._count / np.maximum(self._tier.sums(self._copies), 1.0), 1.0)

    def _history(self) -> F8:
        """How work fared there before: the share of tasks that ended well; 1 where none has ended."""
        succeeded, failed = self._tier.sums(self._view.succeeded), self._tier.sums(self._view.failed)
        ended = succeeded + failed
        return np.divide(succeeded, ended, out=np.ones_like(ended), where=ended > 0)

    def _nearness(self) -> F8:
        """How near the work it wants to be near to is."""
        shape = self._request.shape
        found = self._view.proximity(shape.namespace, shape.near) if shape.near else None
        if found is None:
            return np.zeros(self._tier.count)
        return self._share(found[0] / found[1], np.ones(self._view.size))

    def _share(self, part: F8, whole: F8) -> F8:
        total = self._tier.sums(whole)
        return np.divide(self._tier.sums(part), total, out=np.zeros_like(total), where=total > 0)


def choose_domain(prospect: Prospect, holding: B1, weights: Weights) -> int:
    """The best of the domains that hold it all."""
    points = prospect.points(weights)
    return int(np.where(holding, points, -np.inf).argmax())
