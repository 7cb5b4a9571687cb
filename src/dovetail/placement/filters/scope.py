"""The node belongs to the scheduler that decides: it carries all labels of the scheduler's scope."""

from functools import lru_cache
from typing import ClassVar

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Match, Term
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import NoSettings, Request


@lru_cache(maxsize=4096)
def labels_term(labels: tuple[tuple[str, str], ...]) -> Term:
    return tuple(Match(key, Operator.IN, (value,)) for key, value in labels)


def missing_labels(view: View, position: int, labels: tuple[tuple[str, str], ...]) -> str:
    """`zone is b, not a; gpu is missing`: the labels that keep one node out."""
    words = []
    for key, wanted in labels:
        found = view.label(key, position)
        if found is None:
            words.append(f"label {key} is missing (needs {wanted})")
        elif found != wanted:
            words.append(f"label {key} is {found}, not {wanted}")
    return "; ".join(words)


class ScopeFilter:
    name: ClassVar[str] = "scope"
    reason: ClassVar[str] = "outside_scope"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def mask(self, request: Request, view: View) -> B1 | bool:
        return view.satisfies(labels_term(request.scope)) if request.scope else True

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        why = missing_labels(view, position, request.scope)
        return Refused(self.name, self.reason, f"outside scheduler {request.shape.scheduler!r}: {why}")
