"""Why nodes refuse a task, grouped: nodes that refuse for the same reason share one sentence.

kube-scheduler counts nodes by their message, so the message names no amounts of a single node. Guarantees: array
functions over the filters' own answers; nothing is computed node by node.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction
from dovetail.model.requests.asks import Relation
from dovetail.placement.contract import Filter, Request
from dovetail.placement.filters.constraints import ConstraintsFilter, holds
from dovetail.placement.filters.resources import ResourcesFilter
from dovetail.placement.filters.taints import TaintsFilter
from dovetail.placement.filters.workload_affinity import WorkloadAffinityFilter
from dovetail.placement.pipeline.evaluation import Evaluator, FilterResult
from dovetail.placement.workload_affinity import keeps, let_in

_MOST_NAMED = 32
_NEVER = 1 << 40


class GroupedRefusal(NamedTuple):
    """Nodes of a view that refuse for one reason, and whether the task might fit there if other tasks were gone."""

    positions: Rows
    message: str
    helps: bool


def grouped_refusals(
    request: Request, evaluator: Evaluator, view: View, filtered: FilterResult
) -> Iterator[GroupedRefusal]:
    """Every node that the filters left out, under the first filter that refused it. The view has present rows only."""
    alive: B1 = np.ones(view.size, dtype=np.bool_)
    for plugin, stage in zip(evaluator.filters, filtered.stages, strict=True):
        if stage is not alive:
            out = np.flatnonzero(alive & ~stage)
            if len(out):
                yield from _by_filter(plugin, request, view, out)
            alive = stage


def _by_filter(plugin: Filter, request: Request, view: View, out: Rows) -> list[GroupedRefusal]:
    try:
        return list(_by_rule(plugin, request, view, out))
    except Exception as error:  # as for deciding: whatever a plugin raises, it is named and the answer goes on
        return [GroupedRefusal(out, f"refused by {plugin.name!r}, which failed to say why: {error}", False)]


def _by_rule(plugin: Filter, request: Request, view: View, out: Rows) -> Iterator[GroupedRefusal]:
    if isinstance(plugin, ResourcesFilter):
        yield from _short(plugin, request, view, out)
    elif isinstance(plugin, ConstraintsFilter):
        must = [want for want in request.shape.wants if want.must_hold]
        each = ((f"does not satisfy {want.text}", holds(want, request, view), False) for want in must)
        yield from _in_turn(each, out)
    elif isinstance(plugin, WorkloadAffinityFilter):
        yield from _in_turn(_company(request, view), out)
    elif isinstance(plugin, TaintsFilter):
        codes = view.taint_codes[out]
        for code in np.unique(codes).tolist():
            yield _alike(plugin, request, view, out[codes == code])
    else:
        yield _alike(plugin, request, view, out)


#: What is said where a rule is broken, where it is kept, and whether others' going would help.
Rule = tuple[str, B1 | bool, bool]


def _company(request: Request, view: View) -> Iterator[Rule]:
    for rule in request.shape.company:
        if rule.weight is None:
            yield f"would not be {rule}", keeps(rule, request, view), rule.relation is Relation.APART
    for rule in request.repelled:
        yield f"pods there keep it away: it must stay {rule}", let_in(rule, view), True


def _alike(plugin: Filter, request: Request, view: View, out: Rows) -> GroupedRefusal:
    """The words of one of them do for all."""
    refused = plugin.refuse(request, view, int(out[0]))
    return GroupedRefusal(out, refused.message, refused.eviction is Eviction.HELPS)


def _in_turn(rules: Iterator[Rule], out: Rows) -> Iterator[GroupedRefusal]:
    """By the first of several rules that a node breaks."""
    left = out
    for message, answer, helps in rules:
        kept: B1 = np.full(len(left), answer) if isinstance(answer, bool) else answer[left]
        if not kept.all():
            yield GroupedRefusal(left[~kept], message, helps)
            left = left[kept]
    if len(left):
        yield GroupedRefusal(left, "refused", False)


def _short(plugin: ResourcesFilter, request: Request, view: View, out: Rows) -> Iterator[GroupedRefusal]:
    """By which resources are short; whether others' going would help depends on what the node has at all."""
    names = list(request.needs)[:_MOST_NAMED]
    kinds = np.zeros(len(out), dtype=np.int64)  # a bit for each resource that is short, and the highest for "never"
    for i, name in enumerate(names):
        needed = request.needs[name]
        free, most, kept = plugin.free(view, name), view.schedulable(name), view.reserved(name)
        if free is None or most is None or kept is None:
            kinds |= (1 << i) | _NEVER
            continue
        kinds |= (free[out] < needed).astype(np.int64) << i
        kinds |= np.where(most[out] - kept[out] < needed, _NEVER, 0)
    for kind in np.unique(kinds).tolist():
        short = ", ".join(name for i, name in enumerate(names) if kind >> i & 1)
        never = bool(kind & _NEVER)
        words = f"never has enough {short}" if never else f"too little {short} free"
        yield GroupedRefusal(out[kinds == kind], words, not never)
