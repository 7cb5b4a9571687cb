"""Free capacity left: over the requested resources, the mean share of the node that would still be free with the task
there.

Reserved capacity is not free. With overcommit more than the whole node can be free, and the points exceed 1.
"""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import requested


class ResourceUtilisationScore(Score):
    name = "resource_utilisation"
    reads = frozenset({RESOURCES})

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
