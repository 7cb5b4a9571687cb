"""In each of the domains that the pod's affinity names runs a pod that all its terms select, or the pod is the first of
those that select themselves.

Staying apart is the same for all work (`workload_affinity`); this is not, since all terms speak of the same pods and
the first of them has to find every label but no company.
"""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.network.domains import BY_LABEL
from dovetail.cluster.state import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.pod_ask import PodAffinityRule
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


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


class PodAffinityFilter:
    name: ClassVar[str] = "pod_affinity"
    reason: ClassVar[str] = "affinity_unsatisfied"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def reads_of(self, request: Request) -> frozenset[str]:
        pod = request.shape.kubernetes
        return self.reads if pod is not None and pod.together is not None else frozenset()

    def mask(self, request: Request, view: View) -> B1 | bool:
        pod = request.shape.kubernetes
        return True if pod is None or pod.together is None else _keeps(pod.together, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        pod = request.shape.kubernetes
        assert pod is not None
        assert pod.together is not None
        together, here = pod.together, view.subset(np.array([position], dtype=np.intp))
        for key in together.labels:
            if not np.all(here.in_some_domain(BY_LABEL + key)):
                return Refused(self.name, self.reason, f"must be near other pods by {key}, a label the node lacks")
        whom = together.whom or "pods of which there can be none"
        return Refused(self.name, self.reason, f"none of {whom} in its {', '.join(together.labels)}")
