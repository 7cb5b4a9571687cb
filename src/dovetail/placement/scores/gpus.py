"""Scores that keep whole nodes and scarce GPUs free, and prefer the GPU models that the task named first."""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import LABELS, RESOURCES
from dovetail.cluster.devices import SEVERAL
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, GPU, MEMORY
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import share_after, share_left


class GpuPackingScore(Score):
    """Against fragmentation: the share of the node's GPUs in use with the task there, so that whole nodes stay free.

    For a task without GPUs the node with the fewest free GPUs is best, so that it leaves the others to GPU work.
    """

    name = "gpu_packing"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        if not view.has_gpus:
            return 1.0
        share, capacity = share_after(request, view, GPU), view.capacity(GPU)
        assert share is not None
        share[capacity == 0] = 1.0  # no GPU to break up
        return share


class GpuSupportScore(Score):
    """Leaves each free GPU its share of the node's CPU and memory: minus the share of the GPUs that would lack it.

    A GPU without CPUs is of no use to anyone, so work without GPUs goes where CPUs and memory are to spare. A node
    without a free GPU has none to lose.
    """

    name = "gpu_support"
    reads = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        gpus = share_left(request, view, GPU) if view.has_gpus else None
        if gpus is None:
            return 0.0
        np.maximum(gpus, 0.0, out=gpus)
        supported = gpus
        for resource in (CPU, MEMORY):
            left = share_left(request, view, resource)
            if left is not None:
                supported = np.minimum(supported, left)
        return np.maximum(supported, 0.0) - gpus


class GpuModelPreferenceScore(Score):
    """Nodes with the GPU models that the task named first: 1 for the first, less for each later one.

    It counts what the node has, free or not: a node with several models counts as one with the best of them, and its
    devices are chosen when the task is placed. Without a choice of models all nodes are equal.
    """

    name = "gpu_model_preference"
    reads = frozenset({LABELS})  # as the filter gpu_model

    def points(self, request: Request, view: View) -> F8 | float:
        ask = request.shape.gpus
        if ask is None or len(ask.models) < 2:
            return 0.0
        found: F8 = np.zeros(view.size)
        step = 1.0 / len(ask.models)
        for i in reversed(range(len(ask.models))):
            found[view.could_have_devices(ask._replace(models=(ask.models[i],)))] = 1.0 - i * step
        return found


class GpuScarcityScore(Score):
    """Scarce GPUs are kept for work that can use nothing else: minus the price of the GPUs the task would take there.

    The price of a kind of device is 0 while it is no more in demand than others, and up to 2 GPUs for each GPU taken
    when what is left will not suffice for work that can use nothing else (`fragmentation.scarcity`). On a node with
    several kinds the cheapest one that the task allows counts. Without an outlook all nodes are equal.
    """

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
