"""The pod's device claims can be satisfied on the node: those with allocated devices, and those still to be allocated.

This filter does not look for free devices. The tracker of devices marks nodes that have free ones with a label for each
distinct claim (`DeviceAsk.marked`), and removes the label once the devices are allocated.
"""

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Match
from dovetail.model.requests.pod_ask import DeviceAsk
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import OWN_NODE, Concern, Filter, Request
from dovetail.placement.filters.pod_volumes import any_of

ELSEWHERE, NO_DEVICES = "device_elsewhere", "no_devices_to_allocate"


def reachable(ask: DeviceAsk, view: View) -> B1 | bool:
    found: B1 | bool = True
    for terms in ask.available:
        found = found & any_of(terms, view)
    return found


class PodDevicesFilter(Filter):
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
        found = reachable(ask, view)
        return found & view.matches(Match(ask.marked, Operator.EXISTS, ())) if ask.marked else found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        assert request.pod.devices is not None
        ask, here = request.pod.devices, view.subset(np.array([position], dtype=np.intp))
        if ask.refused:
            return Refused(self.name, NO_DEVICES, ask.refused)
        if not np.all(reachable(ask, here)):
            return Refused(self.name, ELSEWHERE, "a device that the pod's claim has cannot be used from this node")
        return Refused(self.name, NO_DEVICES, "the devices that its claims ask for are not free here")
