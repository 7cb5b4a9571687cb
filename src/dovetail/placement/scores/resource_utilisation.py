"""Room left over: 1 - the mean share, over what the task asks for, that would be in use once it is there."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.view import View
from dovetail.model.strict import Strict
from dovetail.placement.contract import NoSettings, Request
from dovetail.placement.scores.shares import requested, share_after


class ResourceUtilisation:
    name: ClassVar[str] = "resource_utilisation"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> F8 | float:
        names = requested(request)
        total: F8 | None = None
        for name in names:
            share = share_after(request, view, name)
            if share is not None:
                total = share if total is None else np.add(total, share, out=total)
        if total is None:
            return 1.0
        total *= 1.0 / len(names)
        return np.subtract(1.0, total, out=total)
