"""The node has GPUs as the task wants them, whoever has them now: enough of an allowed model, with the memory, and in
one island where that is asked for.

A task to which any GPU will do passes here: how many there are is for `resources` to say.
"""

from typing import ClassVar

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE, describe_gpus
from dovetail.model.reason import Refused
from dovetail.model.resources import GPU
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class GpuModelFilter:
    name: ClassVar[str] = "gpu_model"
    reason: ClassVar[str] = "unsuitable_gpus"
    # What a node says of itself: all of that changes together, and placing a task changes nothing of it.
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        ask = request.shape.gpus
        return self.reads if ask is not None and ask.is_picky else frozenset()

    def mask(self, request: Request, view: View) -> B1 | bool:
        ask = request.shape.gpus
        return True if ask is None or not ask.is_picky else view.could_have_devices(ask)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        capacity = view.capacity(GPU)
        number = 0 if capacity is None else int(capacity[position]) // WHOLE
        has = describe_gpus(view.device_groups(position), number)
        return Refused(self.name, self.reason, f"needs {request.shape.gpus}, has {has}")
