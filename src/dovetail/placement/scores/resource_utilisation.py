"""Free capacity left: over the requested resources, the mean share of the node that would still be free with the task
there: the sum of the shares that are free, less the sum of those that the task needs.

Reserved capacity is not free. With overcommit more than the whole node can be free, and the points exceed 1.
"""

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import requested


class ResourceUtilisationScore(Score):
    name = "resource_utilisation"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        names = requested(request)
        free: F8 | None = None
        for name in names:
            share = view.free_share(name)
            if share is not None:
                free = share if free is None else free + share
        if free is None:
            return 0.0
        left: F8 = free - view.needed_share(request.needs, names)
        left *= 1.0 / len(names)
        return left
