"""Even use of a node's resources: 1 - the gap between its most and least used share once the task is there.

Looks at CPU and memory, and at whatever else the task asks for.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.resources import CPU, MEMORY, SLOTS
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import share_after


class ResourceBalanceScore(Score):
    name = "resource_balance"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        names = dict.fromkeys((CPU, MEMORY, *(name for name in request.needs if name != SLOTS)))
        shares = [share for name in names if (share := share_after(request, view, name)) is not None]
        highest, lowest = shares[0], shares[0]
        for share in shares[1:]:
            highest, lowest = np.maximum(highest, share), np.minimum(lowest, share)
        return 1.0 - (highest - lowest)
