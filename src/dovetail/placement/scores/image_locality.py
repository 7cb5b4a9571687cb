"""Nodes that have the task's image already: 1 there, 0 where it would have to be pulled first.

A node states its images in labels (`model/workloads/image.py`). Where no node has the image, or the task needs none,
all nodes are equal. A shape carries the image only under profiles with this score (`sees_image`), so that under others
tasks which differ in nothing else share a shape.
"""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.requests.asks import Match
from dovetail.model.workloads.image import image_label
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import Request, Score


class ImageLocalityScore(Score):
    name = "image_locality"
    reads = frozenset({LABELS})

    sees_image = True

    def points(self, request: Request, view: View) -> F8 | float:
        label = image_label(request.shape.image) if request.shape.image else None
        if label is None:
            return 0.0
        return view.weighted((Match(label, Operator.EXISTS, ()),), 1.0)
