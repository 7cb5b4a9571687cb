"""The node carries every label of the workload's node_selector."""

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.placement.contract import OWN_NODE, Filter, Request
from dovetail.placement.filters.scope import labels_term, missing_labels


class NodeSelectorFilter(Filter):
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
