"""What a task would cost on nodes that are launched for it, and until when: the dearer, the later it may start.

A spot machine is cheap and has to be chosen early, since its work may have to be done once more; a machine on demand
can still be chosen later. Guarantees: the choices are in order of time and of cost, and each leaves the margin.
Left to others: whether such a node has room at this moment (`launchable_now`).
"""

from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request
from dovetail.placement.market.costs import expected_cost
from dovetail.placement.market.waiting import EQUAL, Patience, large_enough, latest_starts


class Elsewhere(NamedTuple):
    """A task can start elsewhere until `until`, for so much money."""

    until: float
    cost: float


def choices_elsewhere(request: Request, view: View, eligible: B1, patience: Patience) -> tuple[Elsewhere, ...]:
    """The cheapest first, each followed by those that are dearer and can be chosen later."""
    offered = np.flatnonzero(eligible & ~view.runs_already & large_enough(request, view, patience.together))
    cost = expected_cost(request, view)[offered]
    until = latest_starts(request, view, patience)[offered] - patience.margin_s
    found: list[Elsewhere] = []
    for position in np.lexsort((-until, cost)):
        if not found or until[position] > found[-1].until:
            found.append(Elsewhere(float(until[position]), float(cost[position])))
    return tuple(found)


def cheapest_elsewhere(choices: tuple[Elsewhere, ...], at: float) -> Elsewhere | None:
    """What is left at that moment; None: it is too late to go elsewhere."""
    return next((one for one in choices if one.until >= at), None)


def launchable_now(
    request: Request, view: View, has_room: B1, patience: Patience, now: float, most: float
) -> list[int]:
    """Rows that can be launched for it at this moment, in time and for no more than that; the cheapest first."""
    cost = expected_cost(request, view)
    in_time = latest_starts(request, view, patience) - patience.margin_s >= now
    rows = np.flatnonzero(has_room & ~view.runs_already & in_time & (cost <= most * EQUAL))
    ordered: list[int] = rows[np.argsort(cost[rows], kind="stable")].tolist()
    return ordered
