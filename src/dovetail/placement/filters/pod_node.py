"""The node is the one that the pod names, if it names one, and declares every feature that the pod needs."""

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Match, Term
from dovetail.model.requests.pod_ask import FEATURE, NODE_NAME, PodAsk
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import OWN_NODE, Concern, Filter, Request

OTHER_NODE, FEATURE_MISSING = "other_node_named", "feature_missing"


def named(ask: PodAsk) -> Term:
    return (Match(NODE_NAME, Operator.IN, (ask.node_name,)),) if ask.node_name else ()


def features(ask: PodAsk) -> Term:
    return tuple([Match(FEATURE + name, Operator.EXISTS, ()) for name in ask.features])


class PodNodeFilter(Filter):
    name = "pod_node"
    reason = OTHER_NODE
    reads = frozenset({LABELS})
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        ask = request.shape.kubernetes
        return ask is not None and bool(ask.node_name or ask.features)

    def mask(self, request: Request, view: View) -> B1 | bool:
        return view.satisfies((*named(request.pod), *features(request.pod)))

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        if request.pod.node_name and view.label(NODE_NAME, position) != request.pod.node_name:
            return Refused(self.name, OTHER_NODE, f"the pod names another node, {request.pod.node_name}")
        lacking = [name for name in request.pod.features if view.label(FEATURE + name, position) is None]
        return Refused(self.name, FEATURE_MISSING, f"does not declare {', '.join(lacking)}")
