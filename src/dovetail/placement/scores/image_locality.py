"""Nodes that have the task's image already: 1 there, 0 where it would have to be fetched first.

A node says which images it has with labels (`model/workloads/image.py`). Where no node has it, or the task needs none,
all are alike. A shape knows the image of its task only under profiles with this score: under all others, tasks that
differ in nothing else are one shape.
"""

from typing import ClassVar

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.requests.asks import Match
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.image import image_label
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import NoSettings, Request


class ImageLocalityScore:
    name: ClassVar[str] = "image_locality"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> F8 | float:
        label = image_label(request.shape.image) if request.shape.image else None
        if label is None:
            return 0.0
        return view.weighted((Match(label, Operator.EXISTS, ()),), 1.0)
