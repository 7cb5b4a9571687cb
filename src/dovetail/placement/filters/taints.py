"""The task tolerates every NoSchedule and NoExecute taint of the node."""

from collections.abc import Iterator

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.change_log import TAINTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.workloads.selection import Effect, Taint
from dovetail.placement.contract import OWN_NODE, Filter, GroupRefusal, Request


def untolerated(request: Request, taints: tuple[Taint, ...], soft: bool) -> list[Taint]:
    """The taints of one set that the request does not tolerate: PreferNoSchedule if `soft`, else the hard ones."""
    return [
        taint
        for taint in taints
        if (taint.effect is Effect.PREFER_NO_SCHEDULE) is soft
        and not any(toleration.tolerates(taint) for toleration in request.shape.tolerations)
    ]


def tolerated(request: Request, view: View) -> B1 | bool:
    """Nodes all of whose hard taints the request tolerates."""
    question = ("tolerated", request.shape.tolerations)
    return view.by_taints(question, lambda taints: not untolerated(request, taints, soft=False))


class TaintsFilter(Filter):
    name = "taints"
    reason = "untolerated_taint"
    reads = frozenset({TAINTS})
    wakes_on = OWN_NODE
    decided_by = ("shape.tolerations",)

    def mask(self, request: Request, view: View) -> B1 | bool:
        return tolerated(request, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        taints = untolerated(request, view.taint_sets[int(view.taint_codes[position])], soft=False)
        return Refused(self.name, self.reason, f"does not tolerate {', '.join(map(str, taints))}")

    def refuse_many(self, request: Request, view: View, positions: Rows) -> Iterator[GroupRefusal]:
        codes = view.taint_codes[positions]
        for code in np.unique(codes).tolist():
            yield from super().refuse_many(request, view, positions[codes == code])
