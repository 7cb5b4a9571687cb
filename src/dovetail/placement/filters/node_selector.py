"""The node carries every label of the workload's node_selector."""

from typing import ClassVar

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.placement.contract import OWN_NODE, Filter, Request, WakeSignals
from dovetail.placement.filters.scope import labels_term, missing_labels


class NodeSelectorFilter(Filter):
    name: ClassVar[str] = "node_selector"
    reason: ClassVar[str] = "node_selector_mismatch"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    wakes_on: ClassVar[WakeSignals] = OWN_NODE

    def applies(self, request: Request) -> bool:
        return bool(request.shape.node_selector)

    def mask(self, request: Request, view: View) -> B1 | bool:
        return view.satisfies(labels_term(request.shape.node_selector))

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, missing_labels(view, position, request.shape.node_selector))
