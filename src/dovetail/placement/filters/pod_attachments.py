"""The node can attach the pod's volumes beside those it has, within the driver's limit. A volume that is attached
already counts once.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.state import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.pod_ask import VOLUME_LIMIT
from dovetail.placement.contract import OWN_NODE, Concern, EvictionHelps, Filter, Request


def _limits(view: View, driver: str) -> F8 | None:
    """float64[node]: infinite where the node states no limit; None where no node states one."""
    found = view.label_codes(VOLUME_LIMIT + driver)
    if found is None:
        return None
    codes, column = found
    by_code: F8 = np.array([np.inf, *map(float, column.vocabulary)])
    limits: F8 = by_code.take(codes)
    return limits


def _wanted(request: Request) -> dict[str, list[str]]:
    pod = request.shape.kubernetes
    found: dict[str, list[str]] = {}
    for driver, volume in () if pod is None or pod.volumes is None else pod.volumes.attached:
        found.setdefault(driver, []).append(volume)
    return found


class PodAttachmentsFilter(Filter):
    name = "pod_attachments"
    reason = "too_many_volumes"
    reads = frozenset({LABELS, PLACEMENTS})
    eviction_helps = EvictionHelps.BY_TRIAL
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and pod.volumes is not None and bool(pod.volumes.attached)

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for driver, volumes in _wanted(request).items():
            limits = _limits(view, driver)
            if limits is not None:
                more = sum([1.0 - view.has_volume(driver, volume) for volume in volumes], start=np.zeros(view.size))
                found = found & ((view.attached_volumes(driver) + more <= limits) | (more <= 0))
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for driver in _wanted(request):
            limits, attached = _limits(here, driver), here.attached_volumes(driver)
            if limits is not None and np.isfinite(limits[0]):
                words = f"has attached {attached[0]:g} of at most {limits[0]:g} volumes of {driver}"
                return Refused(self.name, self.reason, words, Eviction.HELPS)
        raise AssertionError("refuse() asked of a node without limits")
