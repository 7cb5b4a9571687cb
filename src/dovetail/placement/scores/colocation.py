"""Together with its kind: 1 where a task of the same service already runs."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class ColocationScore:
    name: ClassVar[str] = "colocation"
    reads: ClassVar[frozenset[str]] = frozenset({PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> F8 | float:
        service = request.shape.service
        counts = view.service_counts(request.shape.namespace, service) if service else None
        return 0.0 if counts is None else (counts > 0).astype(np.float64)
