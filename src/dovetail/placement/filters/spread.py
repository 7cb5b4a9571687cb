"""With the task, no domain would have more than `max_skew` tasks more than the emptiest one."""

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import GROUPS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.placement.contract import CopyEffect, EvictionHelps, Filter, Request, WakeSignals
from dovetail.placement.workload_affinity import skews


class SpreadFilter(Filter):
    name = "spread"
    reason = "spread_uneven"
    reads = frozenset(GROUPS)
    eviction_helps = EvictionHelps.BY_TRIAL
    copy_effect = CopyEffect.BY_RULES

    def applies(self, request: Request) -> bool:
        return bool(request.shape.spread) and any(even.weight is None for even in request.shape.spread)

    def wake_signals(self, request: Request) -> WakeSignals:
        rules = [even for even in request.shape.spread if even.weight is None]
        return WakeSignals(
            tuple([whom for even in rules for whom in even.whom]), frozenset([even.level for even in rules])
        )

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for even in request.shape.spread:
            if even.weight is None:
                skew, inside = skews(even, request, view)
                found = found & (skew <= even.max_skew) & inside
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for even in request.shape.spread:
            if even.weight is not None:
                continue
            skew, inside = skews(even, request, here)
            if not np.all(inside):
                return Refused(self.name, self.reason, f"the node is in no {even.level}, so nothing is spread over it")
            if skew[0] > even.max_skew:
                words = f"its {even.level} would have {skew[0]:g} more tasks than the emptiest one, at most"
                return Refused(self.name, self.reason, f"{words} {even.max_skew} are allowed")
        raise AssertionError("refuse() asked of a node that keeps the balance")
