"""How many copies of a task fit on each node, as arrays, also with other amounts.

Guarantees: exact where nodes are judged by their own rows and a copy takes nothing but its amounts (`is_exact`).
Elsewhere, and for other amounts of GPUs, an upper bound. Capacity that is promised to others does not count.
Left to others: whether the nodes allow the task at all.
"""

from collections.abc import Mapping

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.views.view import View
from dovetail.model.resources import GPU
from dovetail.placement.contract import CopyEffect, Request
from dovetail.placement.pipeline.evaluation import Evaluator


class Headroom:
    def __init__(self, evaluator: Evaluator, request: Request, view: View) -> None:
        self._evaluator, self._request, self._view = evaluator, request, view
        self._promised = request.promised

    @property
    def is_exact(self) -> bool:
        """Does a copy leave the verdict of every filter but those about capacity as it is, on all nodes?"""
        request = self._request
        return not request.non_local and not self._evaluator.copies_interact(request, CopyEffect.BY_AMOUNTS)

    def total(self) -> int:
        """Copies on all nodes that allow the task."""
        rows = np.flatnonzero(self._evaluator.run_filters(self._request, self._view).alive)
        return int(self.copies(rows, self._request.needs).sum()) if len(rows) else 0

    def free(self, resource: str, rows: Rows) -> F8:
        """What a copy could take: free, and not promised to others while it would run."""
        found = self._evaluator.resources.free(self._view, resource)
        if found is None:
            return np.zeros(len(rows))
        free: F8 = found[rows]
        if self._promised is not None:
            index = list(self._view.resource_names).index(resource)
            if index < len(self._promised.room):
                left = np.full(self._view.width, np.inf)
                left[self._promised.rows] = self._promised.room[index]
                free = np.minimum(free, left[rows])
        return np.maximum(free, 0.0)

    def copies(self, rows: Rows, amounts: Mapping[str, float]) -> F8:
        """float64[row of `rows`]"""
        found = np.full(len(rows), np.inf)
        for resource, amount in amounts.items():
            if amount:
                found = np.minimum(found, np.floor(self.free(resource, rows) / amount))
        ask = self._request.shape.gpus
        if ask is not None and amounts.get(GPU) == self._request.needs[GPU]:
            # Where there are no such GPUs at all others will have to do: how many of those fit is what amounts say.
            limited = self._view.could_have_devices(ask)[rows]
            found = np.where(limited, np.minimum(found, self._view.device_copies(ask)[rows]), found)
        return found

    def for_one(self, resource: str, rows: Rows) -> F8:
        """What a single copy could take: of GPUs no more than are in one piece."""
        free, ask = self.free(resource, rows), self._request.shape.gpus
        if resource != GPU or ask is None:
            return free
        return np.minimum(free, self._view.largest_devices(ask)[rows])
