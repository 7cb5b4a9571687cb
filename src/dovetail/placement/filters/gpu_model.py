"""The node has suitable GPUs, free or not: enough of an allowed model, with the memory, and in one island if requested.

A task that accepts any GPU passes here: whether there are enough is decided by `resources`.
"""

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE, describe_gpus
from dovetail.model.reason import Refused
from dovetail.model.resources import GPU
from dovetail.placement.contract import OWN_NODE, Filter, Request


class GpuModelFilter(Filter):
    name = "gpu_model"
    reason = "unsuitable_gpus"
    # What a node says of itself: all of that changes together, and placing a task changes nothing of it.
    reads = frozenset({LABELS})
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        ask = request.shape.gpus
        return ask is not None and ask.is_picky

    def mask(self, request: Request, view: View) -> B1 | bool:
        ask = request.shape.gpus
        assert ask is not None
        return view.could_have_devices(ask)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        capacity = view.capacity(GPU)
        number = 0 if capacity is None else int(capacity[position]) // WHOLE
        has = describe_gpus(view.device_groups(position), number)
        return Refused(self.name, self.reason, f"needs {request.shape.gpus}, has {has}")
