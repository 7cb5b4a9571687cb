"""Prices of nodes by patterns of node names, for backends whose system does not know prices."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from dovetail.backends.contract import Price
from dovetail.model.text.strict import Strict

PerHour = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Pattern = Annotated[str, Field(min_length=1, max_length=200)]


class Priced(Strict):
    prices: dict[Pattern, PerHour] = Field(default={}, max_length=1000)
    """The price of nodes per hour, by name or pattern; the first that matches counts."""
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"
    """The currency of the prices, as three letters."""

    def prices_of(self, nodes: Iterable[str]) -> Mapping[str, Price]:
        found = {}
        for node in nodes:
            each = next((price for pattern, price in self.prices.items() if fnmatchcase(node, pattern)), None)
            if each is not None:
                found[node] = Price(each, self.currency)
        return found
