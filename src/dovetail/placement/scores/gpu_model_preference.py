"""Nodes with the GPU models that the task named first: 1 for the first, less for each later one.

It counts what the node has, free or not: a node with several models counts as one with the best of them, and its
devices are chosen when the task is placed. Without a choice of models all nodes are equal.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score


class GpuModelPreferenceScore(Score):
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
