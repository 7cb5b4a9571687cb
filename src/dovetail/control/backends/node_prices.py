"""Prices that backends know by node, put into the offers of nodes that come without one.

A backend that runs what is there anyway, such as Slurm or Docker, knows at most what a node costs an hour
(`Backend.prices`). Clouds announce whole offers, which stay as they are.
Guarantees: a backend that cannot say its prices costs nothing but the prices. Prices that changed are announced again.
"""

import time
from collections.abc import Callable, Mapping

import structlog

from dovetail.backends.contract import Backend, Price
from dovetail.model.node import Node
from dovetail.model.offer import Offer

ASKED_AGAIN_S = 1.0  # so that announcing many nodes does not ask for each of them

log = structlog.get_logger()


class NodePrices:
    """Of one backend."""

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.monotonic) -> None:
        self._backend, self._clock = backend, clock
        self._known: Mapping[str, Price] = {}
        self._asked_at: float | None = None

    async def priced(self, node: Node) -> Node:
        """The node with what it costs, as it is announced."""
        if node.offer is not None:
            return node
        stale = self._asked_at is None or self._clock() - self._asked_at >= ASKED_AGAIN_S
        if node.name not in self._known and stale:
            await self._ask()
        return _with_price(node, self._known.get(node.name))

    async def changed(self, nodes: Callable[[str], Node | None]) -> list[Node]:
        """Ask again: nodes whose price is another now, as they should be announced. `nodes`: a node by name, None if
        there is no such node of this backend."""
        before = self._known
        await self._ask()
        found = []
        for name in dict.fromkeys([*before, *self._known]):
            node = nodes(name)
            if node is not None and (node.offer is None or _is_price_alone(node.offer)):
                priced = _with_price(node, self._known.get(name))
                if priced.offer != node.offer:
                    found.append(priced)
        return found

    async def _ask(self) -> None:
        self._asked_at = self._clock()
        try:
            self._known = await self._backend.prices()
        except Exception as error:  # work must not wait because prices are unknown
            log.warning("backend did not say its prices", backend=self._backend.name, error=str(error))


def _with_price(node: Node, price: Price | None) -> Node:
    offer = None if price is None else Offer(price_per_hour=price.per_hour, currency=price.currency)
    return node if offer == node.offer else node.model_copy(update={"offer": offer})


def _is_price_alone(offer: Offer) -> bool:
    """It says nothing that only a cloud would say."""
    return offer == Offer(price_per_hour=offer.price_per_hour, currency=offer.currency)
