"""Filters on GPUs: whether the node has suitable ones, and whether enough of them are free."""

from dovetail.cluster.arrays import B1
from dovetail.cluster.change_log import DEVICES, LABELS, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE, describe_gpus
from dovetail.model.reason import Eviction, Refused
from dovetail.model.resources import GPU, show_amount
from dovetail.placement.contract import OWN_NODE, Concern, CopyEffect, EvictionHelps, Filter, FilterStage, Request

_SHOWN = 8


class GpuModelFilter(Filter):
    """The node has suitable GPUs, free or not: enough of an allowed model, with the memory, and in one island if
    requested.

    A task that accepts any GPU passes here: whether there are enough is decided by `resources`.
    """

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


class FreeGpusFilter(Filter):
    """Enough suitable GPUs are free, device by device: n whole ones, or one with a large enough share left.

    Amounts alone mislead: half of each of two GPUs is not a whole one. Where the amount alone is too small the node
    passes, so that `resources`, which knows how much is short, gives the reason.
    """

    name = "gpus"
    reason = "gpus_in_pieces"
    reads = frozenset({DEVICES, RESOURCES})
    stage = FilterStage.CAPACITY
    eviction_helps = EvictionHelps.BY_AMOUNTS
    amounts_mislead = True
    copy_effect = CopyEffect.BY_AMOUNTS
    concern = Concern.MOMENT  # part of the requirement on amounts
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        return request.shape.gpus is not None

    def mask(self, request: Request, view: View) -> B1 | bool:
        ask = request.shape.gpus
        assert ask is not None
        if ask.count and not ask.is_picky and view.amounts_tell_devices:
            return True
        free = view.free(GPU)
        if free is None:
            return True
        found = view.has_devices(ask)
        found |= free < request.needs.get(GPU, 0.0)
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        ask, free = request.shape.gpus, view.free(GPU)
        assert ask is not None
        amount = 0.0 if free is None else float(free[position])
        parts = sorted(view.free_parts(ask, position), reverse=True)
        words = ", ".join(show_amount(GPU, part) for part in parts[:_SHOWN]) or "none"
        more = " …" if len(parts) > _SHOWN else ""
        message = f"needs {ask}; {show_amount(GPU, amount)} free, of GPUs that suit it: {words}{more}"
        return Refused(self.name, self.reason, message, Eviction.HELPS, GPU, request.needs[GPU], amount)
