"""Prices that backends know by node become offers of their nodes."""

import asyncio
from collections.abc import Mapping

from dovetail.backends.contract import Price
from dovetail.control.backends.node_prices import NodePrices
from dovetail.model.node import Node
from dovetail.model.offer import Offer


class Priced:
    """The part of a backend that is asked."""

    name = "priced"

    def __init__(self) -> None:
        self.known: dict[str, Price] = {"a": Price(1.5), "b": Price(2.0, "EUR")}
        self.asked = 0
        self.fails = False

    async def prices(self) -> Mapping[str, Price]:
        self.asked += 1
        if self.fails:
            raise OSError("no answer")
        return dict(self.known)


def test_nodes_are_announced_with_their_prices() -> None:
    prices = NodePrices(Priced())  # type: ignore[arg-type]
    assert asyncio.run(prices.priced(Node(name="a"))).offer == Offer(price_per_hour=1.5)
    assert asyncio.run(prices.priced(Node(name="b"))).offer == Offer(price_per_hour=2.0, currency="EUR")
    assert asyncio.run(prices.priced(Node(name="c"))).offer is None


def test_the_offer_of_a_cloud_stays_as_it_is() -> None:
    offer = Offer(price_per_hour=9.0, running=False, place="aws/us-east-1")
    assert asyncio.run(NodePrices(Priced()).priced(Node(name="a", offer=offer))).offer == offer  # type: ignore[arg-type]


def test_many_nodes_without_a_price_do_not_ask_for_each_of_them() -> None:
    backend = Priced()
    prices = NodePrices(backend, clock=lambda: 0.0)  # type: ignore[arg-type]

    async def announce() -> None:
        for number in range(100):
            await prices.priced(Node(name=f"n{number}"))

    asyncio.run(announce())
    assert backend.asked == 1


def test_a_changed_price_is_announced_again_and_one_that_is_gone_is_removed() -> None:
    backend = Priced()
    prices = NodePrices(backend)  # type: ignore[arg-type]
    nodes = {name: asyncio.run(prices.priced(Node(name=name))) for name in ("a", "b")}
    assert asyncio.run(prices.changed(nodes.get)) == []
    backend.known = {"a": Price(1.0)}
    changed = {node.name: node.offer for node in asyncio.run(prices.changed(nodes.get))}
    assert changed == {"a": Offer(price_per_hour=1.0), "b": None}


def test_a_backend_that_cannot_say_its_prices_costs_only_the_prices() -> None:
    backend = Priced()
    backend.fails = True
    assert asyncio.run(NodePrices(backend).priced(Node(name="a"))).offer is None  # type: ignore[arg-type]
