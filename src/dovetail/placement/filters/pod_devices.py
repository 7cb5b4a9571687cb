"""Every device that the pod claims can be had from the node: those that its claims have already, and those that they
are to get.

Which nodes have free devices for a claim is not looked at here: whoever follows devices marks these nodes with a label
for everything that is asked for (`DeviceAsk.marked`), and takes the label off when the devices are given away.
"""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import Match
from dovetail.model.requests.pod_ask import DeviceAsk
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import NoSettings, Request
from dovetail.placement.filters.pod_volumes import any_of

ELSEWHERE, NO_DEVICES = "device_elsewhere", "no_devices_to_allocate"


def reachable(ask: DeviceAsk, view: View) -> B1 | bool:
    found: B1 | bool = True
    for terms in ask.available:
        found = found & any_of(terms, view)
    return found


class PodDevicesFilter:
    name: ClassVar[str] = "pod_devices"
    reason: ClassVar[str] = NO_DEVICES
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def mask(self, request: Request, view: View) -> B1 | bool:
        pod = request.shape.kubernetes
        if pod is None or pod.devices is None:
            return True
        ask = pod.devices
        if ask.refused:
            return False
        found = reachable(ask, view)
        return found & view.matches(Match(ask.marked, Operator.EXISTS, ())) if ask.marked else found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        pod = request.shape.kubernetes
        assert pod is not None
        assert pod.devices is not None
        ask, here = pod.devices, view.subset(np.array([position], dtype=np.intp))
        if ask.refused:
            return Refused(self.name, NO_DEVICES, ask.refused)
        if not np.all(reachable(ask, here)):
            return Refused(self.name, ELSEWHERE, "a device that the pod's claim has cannot be used from this node")
        return Refused(self.name, NO_DEVICES, "the devices that its claims ask for are not free here")
