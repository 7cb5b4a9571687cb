"""The node is in the scope of the scheduler that decides: it carries all labels of that scope."""

from functools import lru_cache

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Match, Term
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import OWN_NODE, Concern, Filter, Request


@lru_cache(maxsize=4096)
def labels_term(labels: tuple[tuple[str, str], ...]) -> Term:
    return tuple(Match(key, Operator.IN, (value,)) for key, value in labels)


def missing_labels(view: View, position: int, labels: tuple[tuple[str, str], ...]) -> str:
    """`zone is b, not a; gpu is missing`: the labels that exclude one node."""
    words = []
    for key, wanted in labels:
        found = view.label(key, position)
        if found is None:
            words.append(f"label {key} is missing (needs {wanted})")
        elif found != wanted:
            words.append(f"label {key} is {found}, not {wanted}")
    return "; ".join(words)


class ScopeFilter(Filter):
    name = "scope"
    reason = "outside_scope"
    reads = frozenset({LABELS})
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE
    decided_by = ("scope",)

    def applies(self, request: Request) -> bool:
        return bool(request.scope)

    def mask(self, request: Request, view: View) -> B1 | bool:
        return view.satisfies(labels_term(request.scope))

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        why = missing_labels(view, position, request.scope)
        return Refused(self.name, self.reason, f"outside scheduler {request.shape.scheduler!r}: {why}")
