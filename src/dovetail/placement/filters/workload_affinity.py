"""Filters on other work: affinity, anti-affinity, and an even spread."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.change_log import GROUPS, LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.asks import Relation
from dovetail.placement.contract import CopyEffect, EvictionHelps, Filter, GroupRefusal, Request, WakeSignals, in_turn
from dovetail.placement.workload_affinity import not_repelled_by, satisfies_rule, skews


class WorkloadAffinityFilter(Filter):
    """The task keeps its required affinity and anti-affinity to other work, and no placed work keeps it away."""

    name = "workload_affinity"
    reason = "affinity_unsatisfied"
    reads = frozenset({LABELS, PLACEMENTS})
    eviction_helps = EvictionHelps.BY_TRIAL
    copy_effect = CopyEffect.BY_RULES

    def applies(self, request: Request) -> bool:
        rules = request.shape.workload_affinity
        return bool(request.repelled) or (bool(rules) and any(rule.weight is None for rule in rules))

    def wake_signals(self, request: Request) -> WakeSignals:
        own = [rule for rule in request.shape.workload_affinity if rule.weight is None]
        # A placed task that keeps others away by distance does so across domains.
        by_distance = [rule for rule in request.repelled if rule.distance is not None]
        return WakeSignals(
            (*[whom for rule in own for whom in rule.whom], *by_distance),
            frozenset([rule.level for rule in (*own, *request.repelled)]),
        )

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for rule in request.shape.workload_affinity:
            if rule.weight is None:
                one = satisfies_rule(rule, request, view)
                found = one if found is True else found if one is True else found & one
        for rule in request.repelled:
            found = found & not_repelled_by(rule, view)
        return found

    def refuse_many(self, request: Request, view: View, positions: Rows) -> Iterator[GroupRefusal]:
        repelled = (
            (f"pods there keep it away: it must stay {rule}", not_repelled_by(rule, view), Eviction.HELPS)
            for rule in request.repelled
        )
        return in_turn(chain(_own_rules(request, view), repelled), positions)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for words, kept, eviction in _own_rules(request, here):
            if not np.all(kept):
                return Refused(self.name, self.reason, words, eviction)
        rule = next(rule for rule in request.repelled if not np.all(not_repelled_by(rule, here)))
        where = f"this {rule.level}" if rule.distance is None else f"distance {rule.distance:g}"
        words = f"work in {where} keeps it away: it must stay {rule}"
        return Refused(self.name, "kept_away", words, Eviction.HELPS)


def _own_rules(request: Request, view: View) -> Iterator[tuple[str, B1 | bool, Eviction]]:
    for rule in request.shape.workload_affinity:
        if rule.weight is None:
            # Eviction can remove tasks to stay apart from; it cannot bring tasks to be near to.
            eviction = Eviction.HELPS if rule.relation is Relation.APART else Eviction.NEVER
            yield f"would not be {rule}", satisfies_rule(rule, request, view), eviction


class SpreadFilter(Filter):
    """With the task, no domain would have more than `max_skew` tasks more than the emptiest one."""

    name = "spread"
    reason = "spread_uneven"
    reads = frozenset(GROUPS)
    eviction_helps = EvictionHelps.BY_TRIAL
    copy_effect = CopyEffect.BY_RULES

    def applies(self, request: Request) -> bool:
        return bool(request.shape.spread) and any(even.weight is None for even in request.shape.spread)

    def wake_signals(self, request: Request) -> WakeSignals:
        rules = [even for even in request.shape.spread if even.weight is None]
        return WakeSignals(
            tuple([whom for even in rules for whom in even.whom]), frozenset([even.level for even in rules])
        )

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for even in request.shape.spread:
            if even.weight is None:
                skew, inside = skews(even, request, view)
                found = found & (skew <= even.max_skew) & inside
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for even in request.shape.spread:
            if even.weight is not None:
                continue
            skew, inside = skews(even, request, here)
            if not np.all(inside):
                return Refused(self.name, self.reason, f"the node is in no {even.level}, so nothing is spread over it")
            if skew[0] > even.max_skew:
                words = f"its {even.level} would have {skew[0]:g} more tasks than the emptiest one, at most"
                return Refused(self.name, self.reason, f"{words} {even.max_skew} are allowed")
        raise AssertionError("refuse() asked of a node that keeps the balance")
