"""Filters on what a pod asks of the node itself: its name, its features, and devices for the claims of the pod."""

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.change_log import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Match
from dovetail.model.requests.pod_ask import FEATURE, NODE_NAME
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import OWN_NODE, Concern, Filter, Request
from dovetail.placement.filters.pod_volumes import reachable

OTHER_NODE, FEATURE_MISSING = "other_node_named", "feature_missing"
ELSEWHERE, NO_DEVICES = "device_elsewhere", "no_devices_to_allocate"


class PodNodeFilter(Filter):
    """The node is the one that the pod names, if it names one, and declares every feature that the pod needs."""

    name = "pod_node"
    reason = OTHER_NODE
    reads = frozenset({LABELS})
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        ask = request.shape.kubernetes
        return ask is not None and bool(ask.node_name or ask.features)

    def mask(self, request: Request, view: View) -> B1 | bool:
        pod = request.pod
        named = (Match(NODE_NAME, Operator.IN, (pod.node_name,)),) if pod.node_name else ()
        return view.satisfies((*named, *[Match(FEATURE + name, Operator.EXISTS, ()) for name in pod.features]))

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        if request.pod.node_name and view.label(NODE_NAME, position) != request.pod.node_name:
            return Refused(self.name, OTHER_NODE, f"the pod names another node, {request.pod.node_name}")
        lacking = [name for name in request.pod.features if view.label(FEATURE + name, position) is None]
        return Refused(self.name, FEATURE_MISSING, f"does not declare {', '.join(lacking)}")


class PodDevicesFilter(Filter):
    """The pod's device claims can be satisfied on the node: those with allocated devices, and those still to be
    allocated.

    This filter does not look for free devices. The tracker of devices marks nodes that have free ones with a label for
    each distinct claim (`DeviceAsk.marked`), and removes the label once the devices are allocated.
    """

    name = "pod_devices"
    reason = NO_DEVICES
    reads = frozenset({LABELS})
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and pod.devices is not None

    def mask(self, request: Request, view: View) -> B1 | bool:
        ask = request.pod.devices
        assert ask is not None
        if ask.refused:
            return False
        found = reachable(ask.available, view)
        return found & view.matches(Match(ask.marked, Operator.EXISTS, ())) if ask.marked else found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        assert request.pod.devices is not None
        ask, here = request.pod.devices, view.subset(np.array([position], dtype=np.intp))
        if ask.refused:
            return Refused(self.name, NO_DEVICES, ask.refused)
        if not np.all(reachable(ask.available, here)):
            return Refused(self.name, ELSEWHERE, "a device that the pod's claim has cannot be used from this node")
        return Refused(self.name, NO_DEVICES, "the devices that its claims ask for are not free here")
