"""Why a node refuses a pod, in kube-scheduler's terms: its plugin names, in its order. The first plugin that refuses
decides the message, and whether eviction could help.

Built from our filters' own answers; only the names and the order are those of Kubernetes.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dovetail.engine.questions.pod_answers import PodRefusal
from dovetail.model.reason import Eviction
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.pod_ask import CLAIM, DISK, PORT, UNSCHEDULABLE
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import SLOTS
from dovetail.placement.filters.node_labels import NodeAffinityFilter, NodeSelectorFilter
from dovetail.placement.filters.pod_affinity import PodAffinityFilter, PodSpreadFilter
from dovetail.placement.filters.pod_node import FEATURE_MISSING, PodDevicesFilter, PodNodeFilter
from dovetail.placement.filters.pod_volumes import OTHER_ZONE, PodAttachmentsFilter, PodVolumesFilter
from dovetail.placement.filters.resources import ResourcesFilter
from dovetail.placement.filters.taints import TaintsFilter
from dovetail.placement.filters.workload_affinity import WorkloadAffinityFilter

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


def verdicts(refusals: list[PodRefusal], shape: Shape) -> list[Verdict]:
    """What a node has against a pod of this shape, in the order of kube-scheduler's plugins; empty: it may go there."""
    found = [verdict for refusal in refusals for verdict in _verdicts(refusal, shape)]
    first = _first(shape)
    # Within a plugin kube-scheduler reports first what no eviction can change.
    return sorted(found, key=lambda one: (-1 if one.plugin == first else _PLACE.get(one.plugin, -1), one.helps))


def _verdicts(refusal: PodRefusal, shape: Shape) -> Iterator[Verdict]:
    refused = refusal.refused
    if refused.filter == WorkloadAffinityFilter.name:
        yield from _about_others(refusal)
        return
    # To kube-scheduler a limit on the number of pods is never beyond what the node could have, even a limit of none.
    eviction = Eviction.HELPS if refused.resource == SLOTS else refused.eviction
    yield Verdict(_plugin(refusal, shape), eviction, refused.message)


def _first(shape: Shape) -> str:
    """The plugin that refuses the pod before any node is looked at."""
    pod = shape.kubernetes
    return "" if pod is None or pod.volumes is None else pod.volumes.refused[0]


def _plugin(refusal: PodRefusal, shape: Shape) -> str:
    refused = refusal.refused
    if refused.filter == TaintsFilter.name:
        return "NodeUnschedulable" if any(one.key == UNSCHEDULABLE for one in refusal.taints) else "TaintToleration"
    if refused.filter == PodNodeFilter.name:
        return "NodeDeclaredFeatures" if refused.reason == FEATURE_MISSING else "NodeName"
    if refused.filter == PodVolumesFilter.name:
        return _first(shape) or ("VolumeZone" if refused.reason == OTHER_ZONE else "VolumeBinding")
    return _ALIKE.get(refused.filter, refused.filter)


def _about_others(refusal: PodRefusal) -> Iterator[Verdict]:
    """Rule by rule: one filter of ours covers what several plugins of kube-scheduler check."""
    for rule in refusal.broken:
        yield Verdict(_holder(rule), Eviction.HELPS, f"would not be {rule}")
    for rule in refusal.repelling:
        yield Verdict("InterPodAffinity", Eviction.HELPS, f"pods there keep it away: it must stay {rule}")


def _holder(rule: AffinityRule) -> str:
    """The plugin that checks what the rule is about: ports and disks are marks on pods here."""
    term = rule.whom[0].term
    kinds = [plugin for mark, plugin in _HELD.items() if term and term[0].key.startswith(mark)]
    return kinds[0] if kinds else "InterPodAffinity"
