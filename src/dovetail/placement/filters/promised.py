"""The room the task would take is not promised to somebody else for a time at which the task would still run.

Promises are backfill reservations, advance reservations, and room being cleared for a preemptor. The engine works out
what is left on each row with a promise for as long as this task would run; all other rows pass.
"""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.resources import show_amount
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class PromisedFilter:
    name: ClassVar[str] = "promised"
    reason: ClassVar[str] = "promised_to_others"
    reads: ClassVar[frozenset[str]] = frozenset()
    Settings: ClassVar[type[Strict]] = NoSettings

    def mask(self, request: Request, view: View) -> B1 | bool:
        promised = request.promised
        if promised is None:
            return True
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
        message = f"{resource}: needs {needed}, {left} not promised to {promised.whose[at]} while it would run"
        return Refused(self.name, self.reason, message, Eviction.NEVER)
