"""The outlook: what scores may know of work to come, that is the typical requests and the scarce kinds of GPUs.

The engine makes one object and passes it with every request; scores read it. Each part has an epoch, which tells when a
result computed from it is out of date (`Score.epoch`).
"""

from dataclasses import dataclass, field

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.fragmentation.typical import Typical


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
