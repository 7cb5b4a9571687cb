"""Scores by the share of each resource that is in use, now or with the task there."""

from collections.abc import Iterable

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.resources import CPU, DISK, MEMORY, SLOTS
from dovetail.placement.contract import Request, Score

#: How the seeds weigh CPU, memory and disk into one utilisation.
BLEND = ((CPU, 0.4), (MEMORY, 0.4), (DISK, 0.2))


def share_after(request: Request, view: View, resource: str) -> F8 | None:
    """(allocated + needed) / capacity; 0 where a node has none of it, None where no node ever had."""
    allocated, inverse = view.allocated(resource), view.inverse_capacity(resource)
    if allocated is None or inverse is None:
        return None
    share: F8 = allocated + request.needs.get(resource, 0.0)
    share *= inverse
    return share


def share_left(request: Request, view: View, resource: str) -> F8 | None:
    """(free - needed) / capacity, as `share_after`."""
    free, inverse = view.free(resource), view.inverse_capacity(resource)
    if free is None or inverse is None:
        return None
    share: F8 = free - request.needs.get(resource, 0.0)
    share *= inverse
    return share


def share_now(view: View, resource: str) -> F8 | None:
    allocated, inverse = view.allocated(resource), view.inverse_capacity(resource)
    return None if allocated is None or inverse is None else allocated * inverse


def blended(shares: Iterable[tuple[F8 | None, float]]) -> F8 | float:
    """Weighted sum of shares, leaving out resources that no node has."""
    total: F8 | float = 0.0
    for share, weight in shares:
        if share is not None:
            total = total + share * weight
    return total


def requested(request: Request) -> list[str]:
    """The resources a task asks for; every task takes a slot, so slots count only if it asks for nothing else."""
    names = [name for name in request.needs if name != SLOTS]
    return names or [SLOTS]


class LeastLoadedScore(Score):
    """The least utilised node: 1 - (40 % CPU + 40 % memory + 20 % disk share in use now)."""

    name = "least_loaded"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        return 1.0 - blended((share_now(view, name), weight) for name, weight in BLEND)


class BestFitScore(Score):
    """The fullest node that still fits: 40 % CPU + 40 % memory + 20 % disk share in use once the task is there."""

    name = "best_fit"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        return blended((share_after(request, view, name), weight) for name, weight in BLEND)


class ResourceBalanceScore(Score):
    """Even use of a node's resources: 1 - the gap between its most and least used share once the task is there.

    Looks at CPU and memory, and at whatever else the task asks for.
    """

    name = "resource_balance"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        names = dict.fromkeys((CPU, MEMORY, *(name for name in request.needs if name != SLOTS)))
        shares = [share for name in names if (share := share_after(request, view, name)) is not None]
        highest, lowest = shares[0], shares[0]
        for share in shares[1:]:
            highest, lowest = np.maximum(highest, share), np.minimum(lowest, share)
        return 1.0 - (highest - lowest)


class LoadBalanceScore(Score):
    """Idle nodes first: 1 - the node's load (mean share of CPU, memory and task slots in use)."""

    name = "load_balance"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        return view.idle
