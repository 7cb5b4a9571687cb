"""The outlook: what scores may know of work to come, that is the typical requests and the scarce kinds of GPUs.

The engine makes one object and passes it with every request; scores read it. Each part has an epoch, which tells when a
result computed from it is out of date (`Score.epoch`).
"""

from dataclasses import dataclass, field

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.placement.fragmentation.typical import Typical

FIRST_STEPS = 20  # from scratch
MORE_STEPS = 5  # from what was found before
_PACE = 0.7  # of the correction a step: 1 would overshoot where kinds share their demand
_LEAST_LOAD = 1e-3
_LEAST_PULL = 1e-6


@dataclass(slots=True, eq=False)
class Outlook:
    typical: Typical | None = None  # None until there are GPUs
    typical_epoch: int = 0
    prices: F8 = field(default_factory=lambda: np.zeros(0))  # float64[kind]: GPUs lost for each GPU taken of it
    prices_epoch: int = 0

    def expect(self, typical: Typical | None) -> None:
        self.typical = typical
        self.typical_epoch += 1

    def price(self, prices: F8) -> None:
        """May be called at any time: an unchanged mix changes nothing."""
        if not np.array_equal(prices, self.prices):
            self.prices = prices
            self.prices_epoch += 1


def levelled(free: F8, allowed: B1, demand: F8, pull: F8, steps: int) -> tuple[F8, F8]:
    """Which GPUs will run short first. float64[kind]: the load of each kind, and the pull to start from next time.

    Work that allows several kinds goes where most is left for it. The load of a kind is its share of the demand over
    what is free of it, with total demand scaled to what is free in total; above 1 it is scarce. It is 1 for a kind of
    which none is free, and for all kinds while there is no demand.

    `allowed` bool[set, kind] and `demand` float64[set]: what was asked for, by sets of kinds. A set gives each of its
    kinds a part in proportion to what is free of it times its pull; the pull of a loaded kind is lowered."""
    total, asked = free.sum(), demand.sum()
    load = np.ones_like(free)
    if total <= 0 or asked <= 0:
        return load, pull
    there = free > 0
    among = (allowed & there).astype(np.float64)
    scaled = demand * (total / asked)
    for _ in range(steps):
        weight = among @ (free * pull)
        each = np.divide(scaled, weight, out=np.zeros_like(scaled), where=weight > 0)
        load = pull * (each @ among)
        pull = np.where(there, pull / np.maximum(load, _LEAST_LOAD) ** _PACE, pull)
    return np.where(there, load, 1.0), np.maximum(pull / pull.max(), _LEAST_PULL)
