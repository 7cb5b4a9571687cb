"""What a task would cost on nodes that are launched for it, and until when: the dearer, the later it may start.

A spot machine is cheap and has to be chosen early, since its work may have to be done once more; a machine on demand
can still be chosen later. Guarantees: the choices are in order of time and of cost, and each leaves the margin.
Left to others: whether such a node has room at this moment (`launchable_now`).
"""

from math import exp
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request
from dovetail.placement.market.costs import HOUR_S, ask_of, expected_cost, repeated_work
from dovetail.placement.market.waiting import EQUAL, Patience, large_enough, latest_starts


class Elsewhere(NamedTuple):
    """A task can start elsewhere until `until`, for so much money."""

    until: float
    cost: float
    rate: float = 0.0  # interruptions expected in a second
    undisturbed: float = 0.0  # what it costs if it is not interrupted


def choices_elsewhere(request: Request, view: View, eligible: B1, patience: Patience) -> tuple[Elsewhere, ...]:
    """The cheapest first, each followed by those that are dearer and can be chosen later."""
    offered = np.flatnonzero(eligible & ~view.runs_already & large_enough(request, view, patience.together))
    cost = expected_cost(request, view)[offered]
    until = latest_starts(request, view, patience)[offered] - patience.margin_s
    ask = ask_of(request)
    undisturbed = cost - (view.price_per_hour * ask.run_s * repeated_work(ask, view) / HOUR_S)[offered]
    found: list[Elsewhere] = []
    for position in np.lexsort((-until, cost)):
        if not found or until[position] > found[-1].until:
            once, rate = float(undisturbed[position]), float(view.interruptions_per_hour[offered[position]]) / HOUR_S
            found.append(Elsewhere(float(until[position]), float(cost[position]), rate, once))
    return tuple(found)


def cheapest_elsewhere(choices: tuple[Elsewhere, ...], at: float) -> Elsewhere | None:
    """What is left at that moment; None: it is too late to go elsewhere."""
    return next((one for one in choices if one.until >= at), None)


def likely_cost(choices: tuple[Elsewhere, ...], run_s: float, at: float) -> float | None:
    """What going elsewhere at that moment is likely to cost in the end; None: it is too late. Work that is interrupted
    when it is too late for another such node has to go to a dearer one: it pays for both."""
    position = next((number for number, one in enumerate(choices) if one.until >= at), None)
    if position is None:
        return None
    first = choices[position]
    sure = next((one.cost for one in choices[position:] if one.rate == 0), None)
    if first.rate == 0 or sure is None:
        return first.cost
    undisturbed = exp(-first.rate * run_s)
    paid = first.undisturbed * (1.0 - undisturbed) / (first.rate * run_s)
    in_time = 1.0 - exp(-first.rate * min(run_s, first.until - at))
    once = paid + (1.0 - undisturbed) * sure
    return max(paid + in_time * once + (1.0 - undisturbed - in_time) * sure, first.cost)


def launchable_now(
    request: Request, view: View, has_room: B1, patience: Patience, now: float, most: float
) -> list[int]:
    """Rows that can be launched for it at this moment, in time and for no more than that; the cheapest first."""
    cost = expected_cost(request, view)
    in_time = latest_starts(request, view, patience) - patience.margin_s >= now
    rows = np.flatnonzero(has_room & ~view.runs_already & in_time & (cost <= most * EQUAL))
    ordered: list[int] = rows[np.argsort(cost[rows], kind="stable")].tolist()
    return ordered
