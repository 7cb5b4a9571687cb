"""Scores by what the task prefers of nodes, and by whether they have its image."""

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import LABELS, TAINTS
from dovetail.cluster.views.view import View
from dovetail.model.requests.asks import Match
from dovetail.model.workloads.image import image_label
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.preferences import avoided_share, preferred_share, reads_of_preferences


class _PreferenceScore(Score):
    reads = frozenset({LABELS, TAINTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return reads_of_preferences(self.reads, request)


class AffinityScore(_PreferenceScore):
    """Preferences about nodes in one number: (preferred - avoided + 1) / 2; 0.5 for a task without preferences."""

    name = "affinity"

    def points(self, request: Request, view: View) -> F8 | float:
        points, disliked = preferred_share(request, view, 0.5), avoided_share(request, view, 0.5)
        if not isinstance(disliked, float) or disliked:
            points = points - disliked
        points += 0.5
        return points


class PreferredScore(_PreferenceScore):
    """The bonus alone, for profiles that weigh bonus and penalty apart."""

    name = "preferred"
    reads = frozenset({LABELS})

    def points(self, request: Request, view: View) -> F8 | float:
        return preferred_share(request, view)


class AvoidedScore(_PreferenceScore):
    """The penalty alone: give it a negative weight."""

    name = "avoided"

    def points(self, request: Request, view: View) -> F8 | float:
        return avoided_share(request, view)


class ImageLocalityScore(Score):
    """Nodes that have the task's image already: 1 there, 0 where it would have to be pulled first.

    A node states its images in labels (`model/workloads/image.py`). Where no node has the image, or the task needs
    none, all nodes are equal. A shape carries the image only under profiles with this score (`sees_image`), so that
    under others tasks which differ in nothing else share a shape.
    """

    name = "image_locality"
    reads = frozenset({LABELS})

    sees_image = True

    def points(self, request: Request, view: View) -> F8 | float:
        label = image_label(request.shape.image) if request.shape.image else None
        if label is None:
            return 0.0
        return view.weighted((Match(label, Operator.EXISTS, ()),), 1.0)
