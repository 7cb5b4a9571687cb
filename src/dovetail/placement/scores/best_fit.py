"""The fullest node that still fits: 40 % CPU + 40 % memory + 20 % disk share in use once the task is there."""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import BLEND, blended, share_after


class BestFitScore(Score):
    name = "best_fit"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        return blended((share_after(request, view, name), weight) for name, weight in BLEND)
