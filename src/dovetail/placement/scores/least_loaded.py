"""The least utilised node: 1 - (40 % CPU + 40 % memory + 20 % disk share in use now)."""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import BLEND, blended, share_now


class LeastLoadedScore(Score):
    name = "least_loaded"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        return 1.0 - blended((share_now(view, name), weight) for name, weight in BLEND)
