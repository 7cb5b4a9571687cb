"""Scarce GPUs are kept for work that can use nothing else: minus the price of the GPUs the task would take there.

The price of a kind of device is 0 while it is no more in demand than others, and up to 2 GPUs for each GPU taken when
what is left will not suffice for work that can use nothing else (`fragmentation.scarcity`). On a node with several
kinds the cheapest one that the task allows counts. Without an outlook all nodes are equal.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.devices import SEVERAL
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE
from dovetail.model.resources import GPU
from dovetail.placement.contract import Request, Score


class GpuScarcityScore(Score):
    name = "gpu_scarcity"
    # What a node says of itself, as the filter gpu_model: placing a task changes nothing of it.
    reads = frozenset({LABELS})

    uses_outlook = True

    def epoch(self, request: Request) -> int:
        return 0 if request.outlook is None or request.shape.gpus is None else request.outlook.prices_epoch

    def points(self, request: Request, view: View) -> F8 | float:
        outlook, ask = request.outlook, request.shape.gpus
        if outlook is None or ask is None or not outlook.prices.any():
            return 0.0
        kinds, prices = len(view.device_kind_list), outlook.prices
        if len(prices) < kinds:  # those that came since have no price yet
            prices = np.concatenate((prices, np.zeros(kinds - len(prices))))
        kind = view.device_kind
        found: F8 = prices.take(kind, mode="clip")
        mixed = np.flatnonzero(kind == SEVERAL)
        if len(mixed):
            of_each = np.where(view.suitable_devices(ask), prices[view.device_kinds], np.inf)[mixed]
            cheapest = of_each.min(axis=1)
            found[mixed] = np.where(np.isfinite(cheapest), cheapest, 0.0)
        return found * (-request.needs.get(GPU, 0.0) / WHOLE)
