"""Against fragmentation: the share of the node's GPUs in use with the task there, so that whole nodes stay free.

For a task without GPUs the node with the fewest free GPUs is best, so that it leaves the others to GPU work.
"""

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.resources import GPU
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import share_after


class GpuPackingScore(Score):
    name = "gpu_packing"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        share, capacity = share_after(request, view, GPU), view.capacity(GPU)
        if share is None or capacity is None:
            return 0.0
        share[capacity == 0] = 1.0  # no GPU to break up
        return share
