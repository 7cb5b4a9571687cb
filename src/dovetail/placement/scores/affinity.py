"""Preferences about nodes in one number: (preferred - avoided + 1) / 2; 0.5 for a task without preferences."""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS, TAINTS
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.preferences import avoided_share, preferred_share, reads_of_preferences


class AffinityScore(Score):
    name = "affinity"
    reads = frozenset({LABELS, TAINTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return reads_of_preferences(self.reads, request)

    def points(self, request: Request, view: View) -> F8 | float:
        points, disliked = preferred_share(request, view, 0.5), avoided_share(request, view, 0.5)
        if not isinstance(disliked, float) or disliked:
            points = points - disliked
        points += 0.5
        return points


class PreferredScore(Score):
    """The bonus alone, for profiles that weigh bonus and penalty apart."""

    name = "preferred"
    reads = frozenset({LABELS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return reads_of_preferences(self.reads, request)

    def points(self, request: Request, view: View) -> F8 | float:
        return preferred_share(request, view)


class AvoidedScore(Score):
    """The penalty alone: give it a negative weight."""

    name = "avoided"
    reads = frozenset({LABELS, TAINTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return reads_of_preferences(self.reads, request)

    def points(self, request: Request, view: View) -> F8 | float:
        return avoided_share(request, view)
