"""Room left over: the mean, over what the task asks for, of the share of a node that would still be free with it there.

Reserved capacity is not free. With overcommit more than the whole of a node can be free, and the points exceed 1.
"""

from typing import ClassVar

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request
from dovetail.placement.scores.shares import requested


class ResourceUtilisationScore:
    name: ClassVar[str] = "resource_utilisation"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> F8 | float:
        names = requested(request)
        total: F8 | None = None
        for name in names:
            free, inverse = view.free(name), view.inverse_capacity(name)
            if free is None or inverse is None:
                continue
            share: F8 = free - request.needs[name]
            share *= inverse
            if total is None:
                total = share
            else:
                total += share
        if total is None:
            return 0.0
        total *= 1.0 / len(names)
        return total
