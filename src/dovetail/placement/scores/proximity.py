"""Near the workloads it talks to: 1 at distance 0, 0 at distance 100.

A task whose related workloads are not placed yet has no reason to prefer any node: 0 everywhere.
"""

from typing import ClassVar

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS, PLACEMENTS
from dovetail.cluster.view import View
from dovetail.model.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class NetworkProximity:
    """The mean over all related tasks, in [0, 1]."""

    name: ClassVar[str] = "network_proximity"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.near else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        found = view.proximity(request.shape.namespace, request.shape.near) if request.shape.near else None
        return 0.0 if found is None else found[0] * (1.0 / found[1])


class RelatedProximity:
    """The sum over all related tasks: nearness times how many there are, so not bounded by 1."""

    name: ClassVar[str] = "related_proximity"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.near else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        found = view.proximity(request.shape.namespace, request.shape.near) if request.shape.near else None
        return 0.0 if found is None else found[0]
