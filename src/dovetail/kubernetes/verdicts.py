"""Why a node refuses a pod, in the words and the order of kube-scheduler: the first of its plugins that refuses decides
what is said, and whether it would help if other pods were gone.

Built from our filters' own answers; only the names and the order are of Kubernetes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.pod_ask import CLAIM, DISK, PORT, UNSCHEDULABLE
from dovetail.model.resources import SLOTS
from dovetail.placement.contract import Request
from dovetail.placement.filters.node_affinity import NodeAffinityFilter
from dovetail.placement.filters.node_selector import NodeSelectorFilter
from dovetail.placement.filters.pod_affinity import PodAffinityFilter
from dovetail.placement.filters.pod_attachments import PodAttachmentsFilter
from dovetail.placement.filters.pod_devices import PodDevicesFilter
from dovetail.placement.filters.pod_node import FEATURE_MISSING, PodNodeFilter
from dovetail.placement.filters.pod_spread import PodSpreadFilter
from dovetail.placement.filters.pod_volumes import OTHER_ZONE, PodVolumesFilter
from dovetail.placement.filters.resources import ResourcesFilter
from dovetail.placement.filters.taints import TaintsFilter, untolerated
from dovetail.placement.filters.workload_affinity import WorkloadAffinityFilter
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.refusal import refusals
from dovetail.placement.workload_affinity import keeps, let_in

#: Its filters, in the order in which they are asked.
PLUGINS = (
    *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
    *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"),
    *("DynamicResources", "NodeDeclaredFeatures"),
)
_PLACE = {plugin: place for place, plugin in enumerate(PLUGINS)}
_ALIKE = {
    NodeSelectorFilter.name: "NodeAffinity",
    NodeAffinityFilter.name: "NodeAffinity",
    ResourcesFilter.name: "NodeResourcesFit",
    PodAttachmentsFilter.name: "NodeVolumeLimits",
    PodSpreadFilter.name: "PodTopologySpread",
    PodAffinityFilter.name: "InterPodAffinity",
    PodDevicesFilter.name: "DynamicResources",
}
_HELD = {PORT: "NodePorts", DISK: "VolumeRestrictions", CLAIM: "VolumeRestrictions"}


class Verdict(NamedTuple):
    """`plugin`: kube-scheduler's, or the name of our filter where it has none like it."""

    plugin: str
    eviction: Eviction
    message: str

    @property
    def helps(self) -> bool:
        """Might the pod fit if others were gone?"""
        return self.eviction is Eviction.HELPS


def verdicts(request: Request, evaluator: Evaluator, cluster: Cluster, row: int) -> list[Verdict]:
    """All that a node has against a pod, what kube-scheduler would say first; empty: it may go there."""
    here = View(cluster).subset(np.array([row], dtype=np.intp))
    found: list[Verdict] = []
    for refused in refusals(request, evaluator, cluster, row):
        found += _verdicts(refused, request, here)
    first = _first(request)
    # Within a plugin what can never be helped is looked at first.
    return sorted(found, key=lambda one: (-1 if one.plugin == first else _PLACE.get(one.plugin, -1), one.helps))


def _verdicts(refused: Refused, request: Request, here: View) -> Iterator[Verdict]:
    if refused.filter == WorkloadAffinityFilter.name:
        yield from _about_others(request, here)
        return
    # How many pods a node takes is never taken for what it could not have, not even where it takes none.
    eviction = Eviction.HELPS if refused.resource == SLOTS else refused.eviction
    yield Verdict(_plugin(refused, request, here), eviction, refused.message)


def _first(request: Request) -> str:
    """The plugin that refuses the pod before any node is looked at."""
    pod = request.shape.kubernetes
    return "" if pod is None or pod.volumes is None else pod.volumes.refused[0]


def _plugin(refused: Refused, request: Request, here: View) -> str:
    if refused.filter == TaintsFilter.name:
        taints = untolerated(request, here.taint_sets[int(here.taint_codes[0])], soft=False)
        return "NodeUnschedulable" if any(taint.key == UNSCHEDULABLE for taint in taints) else "TaintToleration"
    if refused.filter == PodNodeFilter.name:
        return "NodeDeclaredFeatures" if refused.reason == FEATURE_MISSING else "NodeName"
    if refused.filter == PodVolumesFilter.name:
        return _first(request) or ("VolumeZone" if refused.reason == OTHER_ZONE else "VolumeBinding")
    return _ALIKE.get(refused.filter, refused.filter)


def _about_others(request: Request, here: View) -> Iterator[Verdict]:
    """Rule by rule: what one filter of ours looks at is the matter of several plugins."""
    for rule in request.shape.company:
        if rule.weight is None and not np.all(keeps(rule, request, here)):
            yield Verdict(_holder(rule), Eviction.HELPS, f"would not be {rule}")
    for rule in request.repelled:
        if not np.all(let_in(rule, here)):
            yield Verdict("InterPodAffinity", Eviction.HELPS, f"pods there keep it away: it must stay {rule}")


def _holder(rule: AffinityRule) -> str:
    """The plugin that minds what a pod holds, by the mark that it bears for that."""
    term = rule.whom[0].term
    kinds = [plugin for mark, plugin in _HELD.items() if term and term[0].key.startswith(mark)]
    return kinds[0] if kinds else "InterPodAffinity"
