"""What a task costs on each node of a view: money, emissions, time until it runs, work that is repeated.

A node that does not run yet is launched for the task and paid for whole, from its launch on. Of a node that runs, the
task is charged its dominant share. On nodes that are taken away now and then, the task is expected to repeat what it
had not saved: with `x` interruptions expected in the time between two saves, it takes (exp(x) - 1) / x times as long,
which a polynomial gives here, so that any implementation gets the same bits.
Guarantees: the answer for a node depends on its row alone. Left to others: which nodes are considered.
"""

from collections.abc import Callable

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.views.view import View
from dovetail.model.requests.asks import MarketAsk
from dovetail.model.resources import SLOTS
from dovetail.placement.contract import Request
from dovetail.placement.market.transfer_prices import transfer_price, transfer_s

HOUR_S = 3600.0
DEFAULT_ASK = MarketAsk(price=1.0, start=1.0, carbon=1.0, egress=1.0, risk=1.0, local=1.0)
"""For workloads that say nothing, where a profile weighs these scores by itself."""
MOST_INTERRUPTIONS = 20.0
"""Beyond this a task never ends; all such nodes are equally bad."""


def ask_of(request: Request) -> MarketAsk:
    return request.shape.market or DEFAULT_ASK


def charged_share(request: Request, view: View) -> F8:
    """The part of the node that the task pays for: its dominant share, or all of a node that is launched for it."""
    share: F8 = np.zeros(view.size)
    for resource, needed in request.needs.items():
        if resource != SLOTS and (inverse := view.inverse_capacity(resource)) is not None:
            share = np.maximum(share, needed * inverse)
    return np.where(view.runs_already, np.minimum(share, 1.0), 1.0)


def repeated_work(ask: MarketAsk, view: View) -> F8:
    """Expected work that is done again, as a multiple of its run time."""
    unsaved_s = min(ask.run_s, ask.checkpoint_s) if ask.checkpoint_s else ask.run_s
    x = np.minimum(view.interruptions_per_hour * (unsaved_s / HOUR_S), MOST_INTERRUPTIONS)
    found: F8 = x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0))))
    return found


def egress_cost(ask: MarketAsk, view: View) -> F8 | float:
    """The price of moving its inputs to each node."""
    return _by_place(ask, view, transfer_price)


def waiting_s(ask: MarketAsk, view: View) -> F8:
    """How long it takes until the task runs on a node that has room: launching the node and moving its inputs."""
    return view.start_up_s + _by_place(ask, view, transfer_s)


def expected_cost(request: Request, view: View) -> F8:
    """The price of the task on each node, repeated work and transfers included."""
    ask = ask_of(request)
    return price_per_run(ask, view) * charged_share(request, view) + egress_cost(ask, view)


def price_per_run(ask: MarketAsk, view: View) -> F8:
    """The price of the whole node for as long as the task keeps it."""
    found: F8 = view.price_per_hour * (waiting_s(ask, view) + ask.run_s * (1.0 + repeated_work(ask, view))) / HOUR_S
    return found


def expected_grams(request: Request, view: View) -> F8:
    """The emissions of the task on each node."""
    ask = ask_of(request)
    hours = ask.run_s * (1.0 + repeated_work(ask, view)) / HOUR_S
    found: F8 = view.grams_per_hour * charged_share(request, view) * hours
    return found


def _by_place(ask: MarketAsk, view: View, of_gigabyte: Callable[[str, str], float]) -> F8 | float:
    """Summed over its inputs, for the place of each node."""
    if not ask.inputs:
        return 0.0
    sums = [sum([size * of_gigabyte(source, place) for source, size in ask.inputs]) for place in view.place_names]
    found: F8 = np.array(sums)[view.place_codes]
    return found
