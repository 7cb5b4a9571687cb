"""What accounting is made of: which node cost how much since when, and who held it from when until when.

The store has these facts from the same transactions as the decisions behind them, so none is lost or told twice.
Times are seconds since the epoch.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.model.node import Node
from dovetail.model.resources import CPU, GPU, MEMORY, Amounts

#: A share of a node is the largest of its shares of these.
SHARED_RESOURCES = (CPU, MEMORY, GPU)
NANO = 10**9


@dataclass(frozen=True, slots=True)
class NodePrice:
    """From `at` on, until the next one of the same node. `price_nanos`: per hour for the whole node, in billionths of
    the currency; 0: it costs nothing, or there is no such node any more. `running` False: it costs only while work
    holds it. `backend`, `cpu`, `memory` and `gpu` are those of the node then, in the smallest units."""

    node: str
    at: float
    backend: str
    currency: str
    price_nanos: int
    running: bool
    cpu: int
    memory: int
    gpu: int

    @property
    def capacity(self) -> tuple[int, int, int]:
        return self.cpu, self.memory, self.gpu

    @staticmethod
    def of(node: Node, at: float) -> "NodePrice":
        offer, amounts = node.offer, node.capacity.amounts()
        price_nanos = 0 if offer is None else round(offer.price_per_hour * NANO)
        currency, running = ("", True) if offer is None else (offer.currency, offer.running)
        capacity = [amounts.get(name, 0) for name in SHARED_RESOURCES]
        return NodePrice(node.name, at, node.backend, currency, price_nanos, running, *capacity)

    @staticmethod
    def gone(node: str, at: float) -> "NodePrice":
        return NodePrice(node, at, "", "", 0, True, 0, 0, 0)


class Holding(NamedTuple):
    """An attempt of a task held its node. `until` None: it still does. There may be a hundred thousand of them."""

    workload: int
    node: str
    since: float
    until: float | None


@dataclass(frozen=True, slots=True)
class WorkOwner:
    """Whose a workload is, and what one of its tasks asks for. Empty: not known."""

    namespace: str
    name: str
    user: str
    queue: str
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class CostFacts:
    """Everything that counts between two moments. `prices` has, for each node, also the one that counts at the first
    moment."""

    prices: list[NodePrice] = field(default_factory=list)
    holdings: list[Holding] = field(default_factory=list)
    owners: dict[int, WorkOwner] = field(default_factory=dict)
