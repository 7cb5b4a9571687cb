"""Colocation with its own service: 1 where a task of the same service already runs."""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score


class ColocationScore(Score):
    name = "colocation"
    reads = frozenset({PLACEMENTS})

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.shape.service else frozenset()

    def points(self, request: Request, view: View) -> F8 | float:
        service = request.shape.service
        counts = view.service_counts(request.shape.namespace, service) if service else None
        return 0.0 if counts is None else (counts > 0).astype(np.float64)
