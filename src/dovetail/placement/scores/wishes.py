"""Soft wishes about nodes: the share of preferred and of avoided weight that a node meets.

A PreferNoSchedule taint that the task does not tolerate outweighs all else it would avoid: such a node has all of it.
Each node's share depends on that node alone, so a share that is kept for a shape stays true when other nodes change.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.view import View
from dovetail.model.shape import Weighted
from dovetail.placement.contract import Request
from dovetail.placement.filters.taints import untolerated


def preferred_share(request: Request, view: View, whole: float = 1.0) -> F8 | float:
    """In [0, whole]: how much of what the task prefers a node has; 0 for a task without preferences."""
    terms = request.shape.preferred
    return _share(view, terms, whole) if terms else 0.0


def avoided_share(request: Request, view: View, whole: float = 1.0) -> F8 | float:
    """In [0, whole]: how much of what the task would rather avoid a node has."""
    terms = request.shape.avoided
    share = _share(view, terms, whole) if terms else 0.0
    if not view.has_soft_taints:
        return share
    question = ("avoided", request.shape.tolerations)
    tainted = view.by_taints(question, lambda taints: bool(untolerated(request, taints, soft=True)))
    if isinstance(tainted, bool):
        return whole if tainted else share
    return np.where(tainted, whole, share)


def _share(view: View, terms: tuple[Weighted, ...], whole: float) -> F8 | float:
    """Term by term in the order written, `weight * (whole / weight of all terms)` where it is met: an array of its
    own, to be worked on further."""
    each = whole / sum([weight for weight, _ in terms])
    met: F8 | float = 0.0
    for weight, term in terms:
        one = view.weighted(term, weight * each)
        if isinstance(met, float) and not isinstance(one, float):
            if met:
                one += met  # the array is new, and adding to it in place gives the same bits as met + one
            met = one
        else:
            met += one
    return met
