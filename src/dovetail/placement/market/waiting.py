"""Should a task wait for a cheaper node, and until when?

Waiting costs nothing but time, so a task with time to spare waits for the cheapest nodes that could hold it. It goes to
the cheapest node that it can have at any time, its fallback, at the last moment at which it still ends in time there.
A node that others may take meanwhile is no fallback: the task takes it at once, unless it would save more by
waiting than it would lose if it had to use its fallback.
Nodes that may be taken away need time for what would have to be repeated. Nodes on which the task would end too late
are refused while there are others. If it would be late everywhere, nothing is refused.
Guarantees: without a fallback nothing waits. Left to others: which nodes are eligible and which have room.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, TooDear
from dovetail.placement.market.costs import HOUR_S, ask_of, charged_share, expected_cost, waiting_s

EQUAL = 1.001
"""Prices that differ by less are the same: nobody waits for a thousandth."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When the task must have ended, how much time is left for what goes wrong, and how many tasks start together."""

    deadline: float
    margin_s: float
    together: int = 1


def latest_starts(request: Request, view: View, patience: Patience) -> F8:
    """For each node: when the task must be bound to it at the latest to end in time, with nothing left over."""
    ask = ask_of(request)
    wait_s = waiting_s(ask, view)
    unsaved_s = min(ask.run_s, ask.checkpoint_s) if ask.checkpoint_s else ask.run_s
    # What is taken away at the worst moment is repeated from the last saved state, on a node that has to start first.
    again_s = np.where(view.interruptions_per_hour > 0, unsaved_s + wait_s, 0.0)
    found: F8 = patience.deadline - ask.run_s - wait_s - again_s
    return found


def too_dear(
    request: Request, view: View, eligible: B1, has_room: B1, patience: Patience, now: float
) -> TooDear | None:
    """Which nodes to refuse now; None if none is refused for its price or for the deadline. `view` has all rows,
    `eligible` those that could run the task were they empty, `has_room` those that could run it now."""
    latest = latest_starts(request, view, patience)
    could = eligible & large_enough(request, view, patience.together)
    in_time = could & (latest >= now)
    if not in_time.any():
        return None
    late: B1 = could & ~in_time
    cost = expected_cost(request, view)
    offered = np.flatnonzero(in_time & has_room & ~view.runs_already)
    if not len(offered):
        return TooDear(late, late, cost, None, _after(latest[in_time].max())) if late.any() else None
    fallback = int(offered[cost[offered].argmin()])
    until = float(latest[fallback]) - patience.margin_s
    least, most = float(cost[in_time].min()), float(cost[fallback])
    if now >= until or most <= least * EQUAL:
        return TooDear(late, late, cost, None, _after(latest[fallback])) if late.any() else None
    cheap = cost <= least * EQUAL
    worth_taking = view.runs_already & (cost - least <= most - cost)
    refused: B1 = could & ~(cheap | worth_taking)
    return TooDear(refused | late, late, cost, fallback, until)


def savings(request: Request, view: View, eligible: B1, patience: Patience, now: float) -> tuple[float, float]:
    """What an hour on the cheapest nodes saves, for the part of a node that the task takes, compared with the cheapest
    node that would be launched for it and still be in time; and its latest start there. Nothing, where there are none
    of either."""
    could = eligible & large_enough(request, view, patience.together)
    own, offered = np.flatnonzero(could & view.runs_already), np.flatnonzero(could & ~view.runs_already)
    if not len(own) or not len(offered):
        return 0.0, inf
    cost, latest = expected_cost(request, view), latest_starts(request, view, patience)
    in_time = offered[latest[offered] - patience.margin_s >= now]
    offered = in_time if len(in_time) else offered
    fallback = offered[cost[offered].argmin()]
    cheapest = own[cost[own].argmin()]
    share = float(charged_share(request, view)[cheapest])
    hours = ask_of(request).run_s / HOUR_S
    saved = float(cost[fallback] - cost[cheapest])
    return saved / (hours * share) if share > 0 else 0.0, float(latest[fallback]) - patience.margin_s


def _after(moment: float) -> float:
    """The next moment that can be told from this one."""
    return float(np.nextafter(moment, np.inf))


def large_enough(request: Request, view: View, together: int) -> B1 | bool:
    """Nodes that hold a task when they are empty, if those that do hold all that start together."""
    copies: F8 | None = None
    for resource, needed in request.needs.items():
        room, reserved = view.schedulable(resource), view.reserved(resource)
        if needed and room is not None and reserved is not None:
            fits = np.floor((room - reserved) / needed)
            copies = fits if copies is None else np.minimum(copies, fits)
    if copies is None:
        return True
    found: B1 = copies >= 1
    if together > 1:
        # Of several tasks, those that one's own nodes cannot hold together are not kept waiting for them.
        running = view.runs_already
        if copies[found & running].sum() < together:
            found = found & ~running
    return found
