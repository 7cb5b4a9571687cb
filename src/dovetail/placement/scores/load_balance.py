"""Idle nodes first: 1 - the node's load (mean share of CPU, memory and task slots in use)."""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score


class LoadBalanceScore(Score):
    name = "load_balance"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        return view.idle
