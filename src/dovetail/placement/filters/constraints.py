"""The node satisfies every required expression, and every preference that is still insisted on."""

from collections.abc import Iterator

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.change_log import GROUPS, PLACEMENTS, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node, why_not
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.asks import ConstraintAsk, Selector
from dovetail.model.requests.shape import Shape
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.placement.contract import Filter, GroupRefusal, Request, WakeSignals, in_turn


def holds(want: ConstraintAsk, request: Request, view: View) -> B1 | bool:
    """Nodes that satisfy it: an expression to be avoided must not hold there."""
    found = compile_node(want.text).holds(view, request.shape.namespace)
    if want.demand is not Demand.AVOID:
        return found
    return not found if isinstance(found, bool) else ~found


def is_non_local(shape: Shape) -> bool:
    """Is the shape non-local: does a node's own row not decide whether the node suits it?"""
    if shape.near or shape.workload_affinity or shape.spread or shape.traffic or shape.bandwidth_mbps:
        return True
    if shape.kubernetes is not None and shape.kubernetes.needs_other_nodes:
        return True
    return any(map(_non_local, shape.wants))


def _non_local(want: ConstraintAsk) -> bool:
    try:
        return compile_node(want.text).non_local
    except ExpressionError:  # no longer understood, as after a restart with another version: the filter will say so
        return False


def _required(request: Request) -> list[ConstraintAsk]:
    return [want for want in request.shape.wants if want.must_hold]


class ConstraintsFilter(Filter):
    name = "constraints"
    reason = "constraint_unsatisfied"
    reads = frozenset(GROUPS)

    def applies(self, request: Request) -> bool:
        return bool(request.shape.wants) and bool(_required(request))

    def reads_of(self, request: Request) -> frozenset[str]:
        return frozenset().union(*[compile_node(want.text).reads for want in _required(request)])

    def wake_signals(self, request: Request) -> WakeSignals:
        programs = [compile_node(want.text) for want in _required(request)]
        names = [name for program in programs for name in sorted(program.workloads)]
        return WakeSignals(
            tuple([Selector((request.shape.namespace,), workload=name) for name in names]),
            frozenset().union(*[program.levels for program in programs]),
            # An expression may come to hold when something is placed, too: `domain("leaf").allocated.gpu > 0`.
            any(program.reads & {RESOURCES, PLACEMENTS} for program in programs),
        )

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for want in _required(request):
            one = holds(want, request, view)
            found = one if found is True else found if one is True else found & one
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for want in _required(request):
            if not np.all(holds(want, request, here)):
                return Refused(self.name, self.reason, self._words(want, request, here))
        raise AssertionError("refuse() asked of a node that satisfies everything")

    def refuse_many(self, request: Request, view: View, positions: Rows) -> Iterator[GroupRefusal]:
        rules = (
            (f"does not satisfy {want.text}", holds(want, request, view), Eviction.NEVER) for want in _required(request)
        )
        return in_turn(rules, positions)

    def _words(self, want: ConstraintAsk, request: Request, here: View) -> str:
        source = f" ({want.source})" if want.source else ""
        if want.demand is Demand.AVOID:
            return f"still avoids: {want.text}{source}"
        insists = "still insists: " if want.demand is Demand.PREFER else ""
        return f"{insists}{why_not(compile_node(want.text), here, request.shape.namespace, 0)}{source}"
