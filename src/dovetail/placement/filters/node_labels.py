"""Filters on the labels of nodes: the scope of the scheduler, the node selector, and node affinity."""

from functools import lru_cache

from dovetail.cluster.arrays import B1
from dovetail.cluster.change_log import LABELS
from dovetail.cluster.labels import value_matches
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
    """The node is in the scope of the scheduler that decides: it carries all labels of that scope."""

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


class NodeSelectorFilter(Filter):
    """The node carries every label of the workload's node_selector."""

    name = "node_selector"
    reason = "node_selector_mismatch"
    reads = frozenset({LABELS})
    wakes_on = OWN_NODE
    decided_by = ("shape.node_selector",)

    def applies(self, request: Request) -> bool:
        return bool(request.shape.node_selector)

    def mask(self, request: Request, view: View) -> B1 | bool:
        return view.satisfies(labels_term(request.shape.node_selector))

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, missing_labels(view, position, request.shape.node_selector))


def _first_failure(term: Term, view: View, position: int) -> str:
    for match in term:
        value = view.label(match.key, position)
        if not value_matches(value, match):
            return f"{match} fails ({match.key} is {value if value is not None else 'missing'})"
    return ""


def any_of(terms: tuple[Term, ...], view: View) -> B1 | bool:
    """Which nodes satisfy at least one of the terms."""
    found: B1 | bool = False
    for term in terms:
        one = view.satisfies(term)
        if one is True:
            return True
        found = one if found is False else found if one is False else found | one
    return found


class NodeAffinityFilter(Filter):
    """The node satisfies at least one of the required affinity terms, and every preference that is still insisted
    on."""

    name = "node_affinity"
    reason = "node_affinity_mismatch"
    reads = frozenset({LABELS})
    wakes_on = OWN_NODE
    decided_by = ("shape.required", "shape.insisted")

    def applies(self, request: Request) -> bool:
        return bool(request.shape.required or request.shape.insisted)

    def mask(self, request: Request, view: View) -> B1 | bool:
        shape = request.shape
        found = any_of(shape.required, view) if shape.required else True
        for wish in shape.insisted:
            one = view.satisfies(wish.term)
            found = one if found is True else found if one is True else found & one
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        failures = [_first_failure(term, view, position) for term in request.shape.required]
        if failures and all(failures):
            return Refused(self.name, self.reason, "; or ".join(failures))
        wishes = [_first_failure(wish.term, view, position) for wish in request.shape.insisted]
        return Refused(self.name, self.reason, f"still insists: {next(filter(None, wishes))}")
