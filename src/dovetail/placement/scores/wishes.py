"""Soft wishes about nodes: the share of preferred and of avoided weight that a node meets.

A PreferNoSchedule taint that the task does not tolerate outweighs all else it would avoid: such a node has all of it.
Each node's share depends on that node alone, so a share that is kept for a shape stays true when other nodes change.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.view import View
from dovetail.model.shape import Weighted
from dovetail.placement.contract import Request
from dovetail.placement.filters.taints import UntoleratedSets


def _weight_met(view: View, terms: tuple[Weighted, ...]) -> F8 | float:
    met: F8 | float = 0.0
    for weight, term in terms:
        one = view.satisfies(term)
        if one is False:
            continue
        met = met + float(weight) if one is True else met + np.multiply(one, float(weight), dtype=np.float64)
    return met


def preferred_share(request: Request, view: View) -> F8 | float:
    """In [0, 1]: how much of what the task prefers a node has; 0 for a task without preferences."""
    terms = request.shape.preferred
    if not terms:
        return 0.0
    return _weight_met(view, terms) * (1.0 / sum(weight for weight, _ in terms))


def avoided_share(request: Request, view: View, untolerated: UntoleratedSets) -> F8 | float:
    """In [0, 1]: how much of what the task would rather avoid a node has."""
    terms = request.shape.avoided
    share = _weight_met(view, terms) * (1.0 / sum(weight for weight, _ in terms)) if terms else 0.0
    tainted = untolerated.of(request, view)
    if not tainted.any():
        return share
    all_of_it: F8 = tainted.astype(np.float64).take(view.taint_codes, mode="clip")
    return np.maximum(all_of_it, share) if terms else all_of_it  # no share is above 1
