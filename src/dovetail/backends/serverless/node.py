"""A function as a node: so many executions at once, each with the function's memory and its share of cores.

The price is that of all its executions for an hour, so that the share of one task is the price of one execution:
memory in GB times the price of a GB-second. What a call costs beside that, per million calls, is not in it.
"""

from typing import Annotated

from pydantic import Field

from dovetail.backends.contract import Price
from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.function import FUNCTION_LABEL
from dovetail.model.workloads.workload import WorkloadKind

GB, HOUR_S, MILLION = 2**30, 3600.0, 1e6
Small = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]


class FunctionPrice(Strict):
    """What a cloud takes for calls."""

    per_gb_second: Small
    """For a second of one GB of memory."""
    per_million_calls: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 0.2
    """For a million calls."""
    currency: Currency = "USD"
    """The currency of both, as three letters."""

    def per_hour(self, memory_bytes: int, concurrency: int) -> float:
        return self.per_gb_second * HOUR_S * memory_bytes / GB * concurrency

    def of_call(self, memory_bytes: int, run_s: float) -> float:
        """What one call costs that runs so long."""
        return self.per_gb_second * run_s * memory_bytes / GB + self.per_million_calls / MILLION


def function_node(
    name: str,
    backend: str,
    function: str,
    *,
    concurrency: int,
    memory_bytes: int,
    cores: float,
    price: FunctionPrice,
    labels: dict[str, str],
    place: str,
    start_up_s: float,
) -> Node:
    """Its capacity is used up by `concurrency` tasks that ask for no more than the function has."""
    capacity = Capacity(cpu=round(cores * concurrency, 3), memory=memory_bytes * concurrency, slots=concurrency)
    offer = Offer(
        price_per_hour=round(price.per_hour(memory_bytes, concurrency), 9),
        currency=price.currency,
        start_up=start_up_s,
        place=place,
    )
    return Node(
        name=name,
        backend=backend,
        capacity=capacity,
        labels={**labels, FUNCTION_LABEL: function},
        kinds=[WorkloadKind.FUNCTION],
        offer=offer,
    )


def price_of(node: Node) -> Price | None:
    return None if node.offer is None else Price(node.offer.price_per_hour, node.offer.currency)
