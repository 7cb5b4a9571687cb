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


def _share(view: View, terms: tuple[Weighted, ...]) -> F8 | float:
    """Weight met over weight of all terms: an array of its own, to be worked on further."""
    met: F8 | float = 0.0
    for weight, term in terms:
        one = view.weighted(term, float(weight))
        if isinstance(met, float) and not isinstance(one, float):
            one += met  # the array is new, and adding to it in place gives the same bits as met + one
            met = one
        else:
            met += one
    met *= 1.0 / sum(weight for weight, _ in terms)
    return met


def preferred_share(request: Request, view: View) -> F8 | float:
    """In [0, 1]: how much of what the task prefers a node has; 0 for a task without preferences."""
    terms = request.shape.preferred
    return _share(view, terms) if terms else 0.0


def avoided_share(request: Request, view: View) -> F8 | float:
    """In [0, 1]: how much of what the task would rather avoid a node has."""
    terms = request.shape.avoided
    share = _share(view, terms) if terms else 0.0
    question = ("avoided", request.shape.tolerations)
    tainted = view.by_taints(question, lambda taints: bool(untolerated(request, taints, soft=True)))
    if isinstance(tainted, bool):
        return 1.0 if tainted else share
    return np.where(tainted, 1.0, share)
