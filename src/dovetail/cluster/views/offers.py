"""Columns of what using nodes costs, how soon they run and where they stand."""

from collections.abc import Sequence

from dovetail.cluster.arrays import B1, F8, I4
from dovetail.cluster.views.rows import RowsOfView
from dovetail.model.offer import Offer


class OfferColumns(RowsOfView):
    @property
    def price_per_hour(self) -> F8:
        """Of the whole node; 0 for nodes of one's own."""
        return self._cut(self._cluster.offers.price)

    @property
    def start_up_s(self) -> F8:
        """0 for nodes that run."""
        return self._cut(self._cluster.offers.start_up_s)

    @property
    def interruptions_per_hour(self) -> F8:
        """How often its owner is expected to take the node back."""
        return self._cut(self._cluster.offers.interruptions)

    @property
    def grams_per_hour(self) -> F8:
        """CO2 equivalent of the whole node at full load."""
        return self._cut(self._cluster.offers.grams)

    @property
    def runs_already(self) -> B1:
        """False for a node that is launched when work is bound to it: it is then paid for whole."""
        return self._cut(self._cluster.offers.running)

    @property
    def local(self) -> B1:
        """Nodes of one's own: without an offer, or with one that names no place."""
        return self._cut(self._cluster.offers.local)

    @property
    def place_codes(self) -> I4:
        return self._cut(self._cluster.offers.places)

    @property
    def place_names(self) -> Sequence[str]:
        """By code."""
        return self._cluster.offers.place_names

    def offer(self, position: int) -> Offer | None:
        return self._cluster.offers.by_row.get(int(self.rows[position]))
