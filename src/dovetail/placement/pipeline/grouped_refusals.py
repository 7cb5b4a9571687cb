"""Why nodes refuse a task, grouped: nodes that refuse for the same reason share one sentence.

kube-scheduler counts nodes by their message, so the message names no amounts of a single node. Guarantees: array
functions over the filters' own answers; nothing is computed node by node.
"""

from collections.abc import Iterator

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Filter, GroupRefusal, Request
from dovetail.placement.pipeline.evaluation import Evaluator, FilterResult


def grouped_refusals(
    request: Request, evaluator: Evaluator, view: View, filtered: FilterResult
) -> Iterator[GroupRefusal]:
    """Every node that the filters left out, under the first filter that refused it. The view has present rows only."""
    alive: B1 = np.ones(view.size, dtype=np.bool_)
    for plugin, stage in zip(evaluator.filters, filtered.stages, strict=True):
        if stage is not alive:
            out = np.flatnonzero(alive & ~stage)
            if len(out):
                yield from _by_filter(plugin, request, view, out)
            alive = stage


def _by_filter(plugin: Filter, request: Request, view: View, out: Rows) -> list[GroupRefusal]:
    try:
        return list(plugin.refuse_many(request, view, out))
    except Exception as error:  # as for deciding: whatever a plugin raises, it is named and the answer goes on
        return [GroupRefusal(out, f"refused by {plugin.name!r}, which failed to say why: {error}")]
