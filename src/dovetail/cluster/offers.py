"""Columns of what using nodes costs: price, start-up time, emissions, how often they are taken away, where they stand.

Nodes without an offer are one's own: free of charge, running, never taken away. All arrays have one entry a node.
"""

from math import log1p

import numpy as np

from dovetail.cluster.arrays import B1, F8, FIRST_CAPACITY, I4, grown
from dovetail.model.grid_carbon import grams_per_hour
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity

HERE = ""
NO_OFFER = Offer()
_SUREST = 1e-6  # of staying for an hour: a rate of interruptions has to be finite


class OfferTable:
    def __init__(self) -> None:
        self.price: F8 = np.zeros(FIRST_CAPACITY)  # of the whole node, for an hour
        self.start_up_s: F8 = np.zeros(FIRST_CAPACITY)
        self.interruptions: F8 = np.zeros(FIRST_CAPACITY)  # expected in an hour
        self.grams: F8 = np.zeros(FIRST_CAPACITY)  # of CO2 equivalent, of the whole node for an hour at full load
        self.running: B1 = np.ones(FIRST_CAPACITY, dtype=np.bool_)
        self.local: B1 = np.ones(FIRST_CAPACITY, dtype=np.bool_)
        self.places: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self.place_names: list[str] = [HERE]  # by code
        self.by_row: dict[int, Offer] = {}
        self.any_price = False  # has any node ever cost anything?
        self.kinds_offered = 0  # grows when nodes that do not run are offered in a size or at a price as never before
        self._kinds: set[tuple[object, ...]] = set()

    def set_row(self, row: int, offer: Offer | None, capacity: Capacity) -> None:
        if offer is None:
            self.by_row.pop(row, None)
            offer = NO_OFFER
        else:
            self.by_row[row] = offer
        self.price[row] = offer.price_per_hour
        self.start_up_s[row] = 0.0 if offer.running else offer.start_up
        self.interruptions[row] = -log1p(-min(offer.interruption, 1.0 - _SUREST))
        size = capacity.cpu, capacity.gpu
        self.grams[row] = grams_per_hour(offer.place, offer.carbon_g_per_kwh, offer.watts, *size)
        self.running[row] = offer.running
        self.local[row] = offer.place == HERE
        if offer.place not in self.place_names:
            self.place_names.append(offer.place)
        self.places[row] = self.place_names.index(offer.place)
        self.any_price = self.any_price or offer.price_per_hour > 0
        if not offer.running:
            kind = (offer.place, offer.price_per_hour, offer.start_up, offer.interruption, *size, capacity.memory)
            if kind not in self._kinds:
                self._kinds.add(kind)
                self.kinds_offered += 1

    def widen(self, width: int) -> None:
        for name in ("price", "start_up_s", "interruptions", "grams", "running", "local", "places"):
            setattr(self, name, grown(getattr(self, name), width))
