"""What speaks for each domain that a gang could go to: features in [0, 1], one number a domain each.

Most are sums over the nodes of a domain, for all domains at once. Two depend on how long the gang's ranks would take to
exchange data (`network_cost.communication`). Those need the exact nodes of the domain, so they are computed only for
the domains that are best by everything else (`compare`). Each feature is computed on demand, once.
Guarantees: pure; ties are left as ties. Left to others: the weight of a feature (`strategies`), and how many tasks a
node could take.
"""

from collections.abc import Callable

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request
from dovetail.placement.gangs.tiers import Tiers
from dovetail.placement.network_cost.communication import GIB
from dovetail.placement.scores.domain import success_rate
from dovetail.placement.scores.shares import requested

AVAILABILITY, ALIGNMENT, UTILISATION = "availability", "alignment", "utilisation"
HISTORY, TIGHTNESS, NEARNESS = "history", "tightness", "nearness"
LATENCY, BANDWIDTH = "latency", "bandwidth"
FEATURES = (AVAILABILITY, ALIGNMENT, UTILISATION, HISTORY, TIGHTNESS, NEARNESS, LATENCY, BANDWIDTH)
#: What each rank has to tell the others: so little that only the way counts, or so much that only the links do.
EXCHANGED_BYTES = {LATENCY: 4096, BANDWIDTH: GIB}
MOST_COMPARED = 8

Exchange = Callable[[int, int], float | None]
"""Seconds that an all-reduce of so many bytes takes (second) in a domain (first); None where it is unknown."""


class Prospect:
    """One gang's view of the domains of a tier.

    `copies` is float64[node]: tasks of the gang that each node could take; `holding` bool[domain]: which domains hold
    all of them. A strategy gives points to all domains; those of domains that do not hold it do not matter.
    """

    def __init__(
        self,
        request: Request,
        view: View,
        tiers: Tiers,
        tier: int,
        copies: F8,
        count: int,
        holding: B1,
        exchange: Exchange | None = None,
    ) -> None:
        self.request, self.view = request, view
        self.copies, self.count, self.holding = copies, count, holding
        self._tiers, self._tier, self._at = tiers, tiers[tier], tier
        self._exchange = exchange
        self._found: dict[str, F8] = {}
        self._seconds: dict[tuple[int, int], float | None] = {}
        self._compared: Rows | None = None

    @property
    def domains(self) -> int:
        return self._tier.count

    @property
    def level(self) -> str:
        """The level whose domains these are: a label or the name of a level; `host`; empty for the whole cluster."""
        return self._tier.level

    def sums(self, values: F8) -> F8:
        """float64[domain]: the sum over each domain of one value a node."""
        return self._tier.sums(values)

    def feature(self, name: str) -> F8:
        """float64[domain], in [0, 1]; one of `FEATURES`."""
        found = self._found.get(name)
        if found is None:
            found = self._exchanged(EXCHANGED_BYTES[name]) if name in EXCHANGED_BYTES else getattr(self, f"_{name}")()
            self._found[name] = found
        return found

    # --- how quickly ranks exchange data ---------------------------------------------------------------------

    @property
    def compared(self) -> Rows:
        """The domains for which `latency` and `bandwidth` are known; both are 0 for others."""
        if self._compared is None:
            self.compare(np.zeros(self.domains))
        assert self._compared is not None
        return self._compared

    def compare(self, points: F8, most: int = MOST_COMPARED) -> None:
        """Compute `latency` and `bandwidth` from now on for the domains with most points that can hold the gang."""
        able = np.flatnonzero(self.holding)
        if len(able) > most:
            able = np.sort(able[np.argsort(-points[able], kind="stable")[:most]])
        self._compared = able
        for name in EXCHANGED_BYTES:
            self._found.pop(name, None)

    @property
    def differs_by_exchange(self) -> bool:
        """May an exchange take longer in one domain than in another? Not on single nodes, which are alike."""
        return self._exchange is not None and self._at < self._tiers.last

    @property
    def has_levels_inside(self) -> bool:
        """Are there narrower domains in these than single nodes?"""
        return self._at + 1 < self._tiers.last

    def exchange_s(self, domain: int, size_bytes: int) -> float | None:
        """Seconds that an all-reduce takes on the nodes that the gang would get there; None where that is unknown."""
        key = (domain, size_bytes)
        if key not in self._seconds:
            self._seconds[key] = None if self._exchange is None else self._exchange(domain, size_bytes)
        return self._seconds[key]

    def _exchanged(self, size_bytes: int) -> F8:
        """1 in the quickest of the compared domains, 1/2 where it takes twice as long."""
        found = np.zeros(self.domains)
        if len(self.compared) < 2 or not self.differs_by_exchange:
            found[self.compared] = 1.0
            return found
        each = [self.exchange_s(domain, size_bytes) for domain in self.compared.tolist()]
        # A domain of unknown speed counts as slow as the slowest known one.
        known = [seconds for seconds in each if seconds is not None]
        seconds = np.array([max(known, default=1.0) if one is None else one for one in each])
        quickest = seconds.min()
        found[self.compared] = quickest / seconds if np.isfinite(quickest) and quickest > 0 else seconds <= quickest
        return found

    # --- sums over nodes -------------------------------------------------------------------------------------

    def _availability(self) -> F8:
        """The free share of the resource that is scarcest there, of those requested."""
        lowest: F8 = np.ones(self.domains)
        for resource in requested(self.request):
            free, capacity = self.view.free(resource), self.view.capacity(resource)
            if free is None or capacity is None:
                return np.zeros(self.domains)
            lowest = np.minimum(lowest, self._share(np.maximum(free, 0.0), capacity))
        return lowest

    def _utilisation(self) -> F8:
        """The share that others use: of equals the fuller one is better, so that whole domains stay free for large
        gangs."""
        return 1.0 - self.feature(AVAILABILITY)

    def _alignment(self) -> F8:
        """How much of the gang one domain of the next level holds."""
        if self._at + 1 == len(self._tiers):
            return np.ones(self.domains)
        below = self._tiers[self._at + 1]
        held = np.zeros(self.domains)
        np.maximum.at(held, below.parents, below.sums(self.copies))
        return np.minimum(held / self.count, 1.0)

    def _tightness(self) -> F8:
        """How much of what the domain holds the gang takes."""
        return np.minimum(self.count / np.maximum(self.sums(self.copies), 1.0), 1.0)

    def _history(self) -> F8:
        """How tasks fared there before."""
        view = self.view
        return success_rate(*map(self.sums, (view.succeeded, view.failed, view.pace_sum, view.pace_weight)))

    def _nearness(self) -> F8:
        """How near it is to the workloads that it prefers to be near."""
        shape = self.request.shape
        found = self.view.proximity(shape.namespace, shape.near) if shape.near else None
        if found is None:
            return np.zeros(self.domains)
        return self._share(found[0] / found[1], np.ones(self.view.size))

    def _share(self, part: F8, whole: F8) -> F8:
        total = self.sums(whole)
        return np.divide(self.sums(part), total, out=np.zeros_like(total), where=total > 0)
