"""In each domain that the pod's required affinity names runs a pod that all its terms select; or no such pod runs
anywhere, and the pod selects itself.

Anti-affinity is the same for all work (`workload_affinity`). Affinity differs: all terms select the same pods, and the
first of them needs every label but no other pod.
"""

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.network.domains import BY_LABEL
from dovetail.cluster.state import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.pod_ask import PodAffinityRule
from dovetail.placement.contract import Concern, EvictionHelps, Filter, Request, WakeSignals


def _keeps(together: PodAffinityRule, view: View) -> B1 | bool:
    levels = [BY_LABEL + key for key in together.labels]
    if together.whom is None:
        return False
    counts = view.selector_count(together.whom).counts[: view.width]
    everywhere: B1 | bool = True
    for level in levels:
        everywhere = everywhere & view.in_some_domain(level)
    if together.own and not any(view.domains_with(level, counts) for level in levels):
        return everywhere
    found = everywhere
    for level in levels:
        found = found & (view.in_domain(level, counts) > 0)
    return found


class PodAffinityFilter(Filter):
    name = "pod_affinity"
    reason = "affinity_unsatisfied"
    reads = frozenset({LABELS, PLACEMENTS})
    # A pod that must be near others gains nothing when some of them leave.
    eviction_helps = EvictionHelps.WITH_OTHERS
    concern = Concern.SCHEDULER

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and pod.together is not None

    def wake_signals(self, request: Request) -> WakeSignals:
        return WakeSignals(tuple(request.pod.counted()))

    def mask(self, request: Request, view: View) -> B1 | bool:
        assert request.pod.together is not None
        return _keeps(request.pod.together, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        assert request.pod.together is not None
        together, here = request.pod.together, view.subset(np.array([position], dtype=np.intp))
        for key in together.labels:
            if not np.all(here.in_some_domain(BY_LABEL + key)):
                return Refused(self.name, self.reason, f"must be near other pods by {key}, a label the node lacks")
        whom = together.whom or "pods of which there can be none"
        return Refused(self.name, self.reason, f"none of {whom} in its {', '.join(together.labels)}")
