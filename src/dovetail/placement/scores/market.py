"""Scores of the market: what a task costs on a node, how soon it runs, what is emitted, what may be lost.

Each gives points in [0, 1] by itself, relative to the run time of the task and not to other nodes, so that answers stay
cached by row. Where the workload says what it prefers, they are multiplied by its weights, which add up to 1.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import OFFERS, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score
from dovetail.placement.market.costs import (
    HOUR_S,
    ask_of,
    egress_cost,
    expected_cost,
    expected_grams,
    repeated_work,
    waiting_s,
)

GRAMS = 1000.0  # an hour, at which half of the points are left


class PriceScore(Score):
    """1 / (1 + what the task costs there for an hour of its run time, in the currency of the prices)."""

    name = "price"
    reads = frozenset({OFFERS, RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        ask = ask_of(request)
        if not ask.price:
            return 0.0
        hours = ask.run_s / HOUR_S
        found: F8 = ask.price * hours / (hours + expected_cost(request, view))
        return found


class StartScore(Score):
    """run time / (run time + time until the task runs there)."""

    name = "start"
    reads = frozenset({OFFERS})

    def points(self, request: Request, view: View) -> F8 | float:
        ask = ask_of(request)
        if not ask.start:
            return 0.0
        found: F8 = ask.start * ask.run_s / (ask.run_s + waiting_s(ask, view))
        return found


class CarbonScore(Score):
    """1 / (1 + kilograms that the task emits there in an hour of its run time)."""

    name = "carbon"
    reads = frozenset({OFFERS, RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        ask = ask_of(request)
        if not ask.carbon:
            return 0.0
        hours = ask.run_s / HOUR_S
        found: F8 = ask.carbon * hours / (hours + expected_grams(request, view) / GRAMS)
        return found


class EgressScore(Score):
    """1 / (1 + the price of moving its inputs there)."""

    name = "egress"
    reads = frozenset({OFFERS})

    def points(self, request: Request, view: View) -> F8 | float:
        ask = ask_of(request)
        return ask.egress / (1.0 + egress_cost(ask, view)) if ask.egress else 0.0


class RiskScore(Score):
    """run time / (run time + work that is expected to be lost there and done again)."""

    name = "risk"
    reads = frozenset({OFFERS})

    def points(self, request: Request, view: View) -> F8 | float:
        ask = ask_of(request)
        if not ask.risk:
            return 0.0
        found: F8 = ask.risk / (1.0 + repeated_work(ask, view))
        return found


class LocalScore(Score):
    """1 on nodes of one's own, 0 elsewhere."""

    name = "local"
    reads = frozenset({OFFERS})

    def points(self, request: Request, view: View) -> F8 | float:
        ask = ask_of(request)
        return np.where(view.local, ask.local, 0.0) if ask.local else 0.0
