"""The GPUs that are free now suit the task one by one: so many whole ones, or one with so large a part left.

Amounts can lie: half of each of two GPUs is no whole one. Where the amount alone is too small the node passes, so that
`resources`, which knows what is short by how much, gives the reason.
"""

from typing import ClassVar

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import DEVICES, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.resources import GPU, show_amount
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request

_SHOWN = 8


class FreeGpusFilter:
    name: ClassVar[str] = "gpus"
    reason: ClassVar[str] = "gpus_in_pieces"
    reads: ClassVar[frozenset[str]] = frozenset({DEVICES, RESOURCES})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return frozenset() if request.shape.gpus is None else self.reads

    def mask(self, request: Request, view: View) -> B1 | bool:
        ask = request.shape.gpus
        if ask is None or (ask.count and not ask.is_picky and view.amounts_tell_devices):
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
