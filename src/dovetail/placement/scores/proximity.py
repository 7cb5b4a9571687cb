"""Near related workloads: 1 at distance 0, 0 at distance 100.

A task whose related workloads are not placed yet prefers no node: 0 everywhere.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score


class NetworkProximityScore(Score):
    """The mean over all related tasks, in [0, 1]."""

    name = "network_proximity"
    reads = frozenset({LABELS, PLACEMENTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.near else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        found = view.proximity(request.shape.namespace, request.shape.near) if request.shape.near else None
        return 0.0 if found is None else found[0] * (1.0 / found[1])


class RelatedProximityScore(Score):
    """The sum over all related tasks: nearness times their number, so not bounded by 1.

    Related workloads are those that it wants to be near, and those that it exchanges traffic with, each weighted by its
    share of that traffic. Where links are described, the bandwidth left on the path to them, as a share of what the two
    exchange, is added with the same weights.
    """

    name = "related_proximity"
    reads = frozenset({LABELS, PLACEMENTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.near or request.shape.traffic or request.senders else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        shape = request.shape
        found = view.proximity(shape.namespace, shape.near) if shape.near else None
        points: F8 | float = 0.0 if found is None else found[0]
        if not shape.traffic and not request.senders:
            return points
        namespace = shape.namespace if request.identity is None else request.identity.namespace
        for name, mbps, share in exchanged(request):
            near = view.proximity(namespace, (name,))
            if near is not None:
                points = points + share * near[0]
            left = view.path_headroom(namespace, name, mbps)
            if left is not None:
                points = points + share * left
        return points


def exchanged(request: Request) -> list[tuple[str, int, float]]:
    """Workloads that it exchanges traffic with, by name: Mbps in both directions, and the share of all its traffic."""
    rates = dict(request.shape.traffic)
    for name, mbps in request.senders:
        rates[name] = rates.get(name, 0) + mbps
    total = sum(rates.values())
    return [(name, rates[name], rates[name] / total) for name in sorted(rates)]


class ColocationScore(Score):
    """Colocation with its own service: 1 where a task of the same service already runs."""

    name = "colocation"
    reads = frozenset({PLACEMENTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.service else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        service = request.shape.service
        counts = view.service_counts(request.shape.namespace, service) if service else None
        return 0.0 if counts is None else (counts > 0).astype(np.float64)
