"""The node satisfies at least one of the required affinity terms, and every preference that is still insisted on."""

from dovetail.cluster.arrays import B1
from dovetail.cluster.labels import value_matches
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Term
from dovetail.placement.contract import OWN_NODE, Filter, Request


def _first_failure(term: Term, view: View, position: int) -> str:
    for match in term:
        value = view.label(match.key, position)
        if not value_matches(value, match):
            return f"{match} fails ({match.key} is {value if value is not None else 'missing'})"
    return ""


def required_terms(request: Request, view: View) -> B1 | bool:
    """Which nodes satisfy at least one of the required terms."""
    if not request.shape.required:
        return True
    found: B1 | bool = False
    for term in request.shape.required:
        one = view.satisfies(term)
        if one is True:
            return True
        found = one if found is False else found if one is False else found | one
    return found


class NodeAffinityFilter(Filter):
    name = "node_affinity"
    reason = "node_affinity_mismatch"
    reads = frozenset({LABELS})
    wakes_on = OWN_NODE
    decided_by = ("shape.required", "shape.insisted")

    def applies(self, request: Request) -> bool:
        return bool(request.shape.required or request.shape.insisted)

    def mask(self, request: Request, view: View) -> B1 | bool:
        found = required_terms(request, view)
        for wish in request.shape.insisted:
            one = view.satisfies(wish.term)
            found = one if found is True else found if one is True else found & one
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        failures = [_first_failure(term, view, position) for term in request.shape.required]
        if failures and all(failures):
            return Refused(self.name, self.reason, "; or ".join(failures))
        wishes = [_first_failure(wish.term, view, position) for wish in request.shape.insisted]
        return Refused(self.name, self.reason, f"still insists: {next(filter(None, wishes))}")
