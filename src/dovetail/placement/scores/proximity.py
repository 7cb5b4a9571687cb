"""Near the workloads it belongs with: 1 at distance 0, 0 at distance 100.

A task whose related workloads are not placed yet has no reason to prefer any node: 0 everywhere.
"""

from typing import ClassVar

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class NetworkProximityScore:
    """The mean over all related tasks, in [0, 1]."""

    name: ClassVar[str] = "network_proximity"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.near else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        found = view.proximity(request.shape.namespace, request.shape.near) if request.shape.near else None
        return 0.0 if found is None else found[0] * (1.0 / found[1])


class RelatedProximityScore:
    """The sum over all related tasks: nearness times how many there are, so not bounded by 1.

    Related are the workloads it wants to be near to, and those it talks to or that talk to it, each weighted by its
    share of all that traffic. Where links are described, what is left of the bandwidth on the way to those, as a share
    of what the two exchange, is added with the same weights.
    """

    name: ClassVar[str] = "related_proximity"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.near or request.shape.traffic or request.heard else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        shape = request.shape
        found = view.proximity(shape.namespace, shape.near) if shape.near else None
        points: F8 | float = 0.0 if found is None else found[0]
        if not shape.traffic and not request.heard:
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
    """Who it exchanges how many Mbps with, in either direction, and which share of all of it that is; by name."""
    rates = dict(request.shape.traffic)
    for name, mbps in request.heard:
        rates[name] = rates.get(name, 0) + mbps
    total = sum(rates.values())
    return [(name, rates[name], rates[name] / total) for name in sorted(rates)]
