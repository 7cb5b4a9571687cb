"""Preferences about nodes: the share of preferred and of avoided weight that a node matches.

Preferences are label terms (weights 1 to 100), expressions, and soft workload affinity (weights 0 to 1, where 1 equals
a term of 100). A PreferNoSchedule taint that the task does not tolerate outweighs everything else to avoid: such a node
counts as having all of it. Without preferences about other work each node's share depends on that node alone, so a
cached share stays true when other nodes change.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import compile_node
from dovetail.model.requests.asks import Relation, SpreadRule, WeightedMatch
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.placement.contract import Request
from dovetail.placement.filters.taints import untolerated
from dovetail.placement.workload_affinity import satisfies_rule, skews

FULL = 100.0  # the weight of a term that equals an expression of weight 1

#: Its weight, and its points on each node when so much is given for it: a new array, or a plain float.
Wish = tuple[float, Callable[[float], F8 | float]]


def preferred_share(request: Request, view: View, whole: float = 1.0) -> F8 | float:
    """In [0, whole]: the share of the preferred weight that a node matches; 0 for a task without preferences."""
    shape = request.shape
    if not (shape.wants or shape.workload_affinity or shape.spread):
        return _terms_share(view, shape.preferred, whole) if shape.preferred else 0.0
    return _share(_preferred(request, view), bool(shape.preferred), whole)


def avoided_share(request: Request, view: View, whole: float = 1.0) -> F8 | float:
    """In [0, whole]: the share of the avoided weight that a node matches."""
    shape = request.shape
    share: F8 | float = 0.0
    if not (shape.wants or shape.workload_affinity):
        share = _terms_share(view, shape.avoided, whole) if shape.avoided else 0.0
    else:
        share = _share(_avoided(request, view), bool(shape.avoided), whole)
    if not view.has_soft_taints:
        return share
    question = ("avoided", whole, request.shape.tolerations)
    tainted = view.by_taints(question, lambda taints: whole if untolerated(request, taints, soft=True) else 0.0)
    if isinstance(tainted, float):
        return tainted or share
    if isinstance(share, float) and not share:
        return tainted
    return np.where(tainted, whole, share)


def reads_of_preferences(reads: frozenset[str], request: Request) -> frozenset[str]:
    """Column groups that label terms and taints read, and those of expressions."""
    wishes = [want for want in request.shape.wants if want.demand is not Demand.REQUIRE]
    return reads.union(*[compile_node(want.text).reads for want in wishes]) if wishes else reads


def _preferred(request: Request, view: View) -> list[Wish]:
    shape = request.shape
    found: list[Wish] = [(weight, partial(view.weighted, term)) for weight, term in shape.preferred]
    found += _expressions(Demand.PREFER, request, view)
    for rule in shape.workload_affinity:
        if rule.weight and rule.relation is not Relation.APART:
            found += [(rule.weight * FULL, partial(_where, satisfies_rule(rule, request, view)))]
    found += [(even.weight * FULL, partial(_evenness, even, request, view)) for even in shape.spread if even.weight]
    return found


def _avoided(request: Request, view: View) -> list[Wish]:
    shape = request.shape
    found: list[Wish] = [(weight, partial(view.weighted, term)) for weight, term in shape.avoided]
    found += _expressions(Demand.AVOID, request, view)
    for rule in shape.workload_affinity:
        if rule.weight and rule.relation is Relation.APART:
            kept = satisfies_rule(rule, request, view)
            found.append((rule.weight * FULL, partial(_where, not kept if isinstance(kept, bool) else ~kept)))
    return found


def _expressions(demand: Demand, request: Request, view: View) -> list[Wish]:
    wants = [want for want in request.shape.wants if want.demand is demand and want.weight]
    space = request.shape.namespace
    return [(want.weight * FULL, partial(_where, compile_node(want.text).holds(view, space))) for want in wants]


def _where(holds: B1 | bool, points: float) -> F8 | float:
    return holds * points if isinstance(holds, bool) else np.multiply(holds, points, dtype=np.float64)


def _evenness(even: SpreadRule, request: Request, view: View, points: float) -> F8:
    """All points in the emptiest domain, fewer in fuller ones, none outside of any domain."""
    skew, inside = skews(even, request, view)
    found: F8 = points / np.maximum(skew, 1.0) * inside
    return found


def _terms_share(view: View, terms: tuple[WeightedMatch, ...], whole: float) -> F8 | float:
    """The same for label terms alone, the usual case."""
    each = whole / sum([weight for weight, _ in terms])
    met: F8 | float = 0.0
    for weight, term in terms:
        met = _more(met, view.weighted(term, weight * each))
    return met


def _share(wishes: list[Wish], terms: bool, whole: float) -> F8 | float:
    """Sums preference by preference in the order written, `weight * (whole / weight of all)` where it is met, in a new
    array that the caller may modify. Label terms share the whole among them; a lone expression gets no more than its
    weight."""
    if not wishes:
        return 0.0
    total = sum([weight for weight, _ in wishes])
    each = whole / (total if terms else max(total, FULL))
    met: F8 | float = 0.0
    for weight, points in wishes:
        met = _more(met, points(weight * each))
    return met


def _more(met: F8 | float, one: F8 | float) -> F8 | float:
    """Their sum, in an array that the caller may modify."""
    if isinstance(met, float) and not isinstance(one, float):
        if met:
            one += met  # the array is new, and adding to it in place gives the same bits as met + one
        return one
    met += one
    return met
