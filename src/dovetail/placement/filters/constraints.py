"""The node satisfies every expression that is required, and every wish that is still insisted on."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import GROUPS
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.explaining import why_not
from dovetail.constraints.program import compile_node
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import ConstraintAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.placement.contract import NoSettings, Request


def holds(want: ConstraintAsk, request: Request, view: View) -> B1 | bool:
    """Where the node is as it should be: an expression that is to be avoided does not hold there."""
    found = compile_node(want.text).holds(view, request.shape.namespace)
    if want.demand is not Demand.AVOID:
        return found
    return not found if isinstance(found, bool) else ~found


def is_non_local(shape: Shape) -> bool:
    """Can a node not be judged for it by that node's own row alone?"""
    social = shape.near or shape.company or shape.spread or shape.traffic or shape.bandwidth_mbps
    if shape.kubernetes is not None and shape.kubernetes.is_social:
        return True
    return bool(social) or any(_non_local(want) for want in shape.wants)


def _non_local(want: ConstraintAsk) -> bool:
    try:
        return compile_node(want.text).non_local
    except ExpressionError:  # no longer understood, as after a restart with another version: the filter will say so
        return False


def reads_of(wants: tuple[ConstraintAsk, ...]) -> frozenset[str]:
    return frozenset().union(*[compile_node(want.text).reads for want in wants])


class ConstraintsFilter:
    name: ClassVar[str] = "constraints"
    reason: ClassVar[str] = "constraint_unsatisfied"
    reads: ClassVar[frozenset[str]] = frozenset(GROUPS)
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        return reads_of(tuple(want for want in request.shape.wants if want.must_hold))

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for want in request.shape.wants:
            if want.must_hold:
                one = holds(want, request, view)
                found = one if found is True else found if one is True else found & one
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for want in request.shape.wants:
            if want.must_hold and not np.all(holds(want, request, here)):
                return Refused(self.name, self.reason, self._words(want, request, here))
        raise AssertionError("refuse() asked of a node that satisfies everything")

    def _words(self, want: ConstraintAsk, request: Request, here: View) -> str:
        whose = f" ({want.source})" if want.source else ""
        if want.demand is Demand.AVOID:
            return f"still avoids: {want.text}{whose}"
        insists = "still insists: " if want.demand is Demand.PREFER else ""
        return f"{insists}{why_not(compile_node(want.text), here, request.shape.namespace, 0)}{whose}"
