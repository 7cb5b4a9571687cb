"""The capacity that the task would take is not promised to others for a time at which the task would still run.

Promises are backfill reservations, advance reservations, and capacity being cleared by preemption. The engine computes
what they leave on each row for as long as this task would run; all other rows pass.
"""

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.resources import show_amount
from dovetail.placement.contract import OWN_NODE, Concern, CopyEffect, EvictionHelps, Filter, FilterStage, Request


class PromisedFilter(Filter):
    name = "promised"
    reason = "promised_to_others"
    reads = frozenset()
    stage = FilterStage.CAPACITY
    eviction_helps = EvictionHelps.BY_AMOUNTS
    copy_effect = CopyEffect.BY_AMOUNTS
    concern = Concern.MOMENT
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        return request.promised is not None

    def mask(self, request: Request, view: View) -> B1 | bool:
        promised = request.promised
        assert promised is not None
        n = min(len(request.column), len(promised.room))
        column = request.column[:n, None]
        left = ((promised.room[:n] >= column) | (column == 0)).all(axis=0)
        whole = view.whole
        for resource, needed in request.needs.items():  # where there is no room now, that is the reason to give
            free = whole.free(resource)
            left |= False if free is None else free[promised.rows] < needed
        found = np.ones(view.width, dtype=np.bool_)
        found[promised.rows] = left
        return found[view.rows]

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        promised = request.promised
        assert promised is not None
        row = int(view.rows[position])
        at = int(np.flatnonzero(promised.rows == row)[0])
        short = int(np.argmax(request.column[: len(promised.room)] - promised.room[:, at]))
        resource = view.resource_names[short]
        left = show_amount(resource, max(0.0, float(promised.room[short, at])))
        needed = show_amount(resource, float(request.column[short]))
        message = f"{resource}: needs {needed}, {left} not promised to {promised.owners[at]} while it would run"
        return Refused(self.name, self.reason, message, Eviction.NEVER)
