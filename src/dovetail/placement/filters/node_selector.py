"""The node carries every label of the workload's node_selector."""

from typing import ClassVar

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request
from dovetail.placement.filters.scope import labels_term, missing_labels


class NodeSelectorFilter:
    name: ClassVar[str] = "node_selector"
    reason: ClassVar[str] = "node_selector_mismatch"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def mask(self, request: Request, view: View) -> B1 | bool:
        return view.satisfies(labels_term(request.shape.node_selector)) if request.shape.node_selector else True

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, missing_labels(view, position, request.shape.node_selector))
