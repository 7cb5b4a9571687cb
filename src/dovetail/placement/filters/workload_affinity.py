"""The task would be near to and apart from other work as it must, and no work that runs there keeps it away."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.asks import Relation
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request
from dovetail.placement.workload_affinity import keeps, let_in


class WorkloadAffinityFilter:
    name: ClassVar[str] = "workload_affinity"
    reason: ClassVar[str] = "affinity_unsatisfied"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return self.reads if request.non_local else frozenset()

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for rule in request.shape.company:
            if rule.weight is None:
                one = keeps(rule, request, view)
                found = one if found is True else found if one is True else found & one
        for rule in request.repelled:
            found = found & let_in(rule, view)
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for rule in request.shape.company:
            if rule.weight is None and not np.all(keeps(rule, request, here)):
                # Whoever it must keep apart from can be made to leave; company it lacks cannot be made to come.
                eviction = Eviction.HELPS if rule.relation is Relation.APART else Eviction.NEVER
                return Refused(self.name, self.reason, f"would not be {rule}", eviction)
        rule = next(rule for rule in request.repelled if not np.all(let_in(rule, here)))
        where = f"this {rule.level}" if rule.distance is None else f"distance {rule.distance:g}"
        words = f"work in {where} keeps it away: it must stay {rule}"
        return Refused(self.name, "kept_away", words, Eviction.HELPS)
