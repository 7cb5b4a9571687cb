"""What kube-scheduler says of a pod that it has no node for, in numbers: `0/9 nodes are available: 3 Insufficient cpu`.

A node is refused by one plugin, the first that refuses; one plugin may have several things against it, each of which is
counted. So the numbers of a plugin that says one thing a node are nodes, those of the others are at least as many.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from tests.contract.kubernetes.listening_extender import WORDS

HEARD = "heard"
#: What it says, by the beginning, and whose word that is.
_PLUGINS = {
    "node(s) were unschedulable": "NodeUnschedulable",
    "node(s) had untolerated taint": "TaintToleration",
    "node(s) didn't match Pod's node affinity": "NodeAffinity",
    "node(s) didn't have free ports": "NodePorts",
    "Insufficient ": "NodeResourcesFit",
    "Too many pods": "NodeResourcesFit",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod": "VolumeRestrictions",
    "node(s) had no available disk": "VolumeRestrictions",
    "node(s) exceed max volume count": "NodeVolumeLimits",
    "node(s) didn't match PersistentVolume's node affinity": "VolumeBinding",
    "node(s) did not have enough free storage": "VolumeBinding",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": "VolumeBinding",
    "node(s) didn't find available persistent volumes": "VolumeBinding",
    "node(s) had no available volume zone": "VolumeZone",
    "node(s) didn't match pod topology spread": "PodTopologySpread",
    "node(s) didn't match pod affinity rules": "InterPodAffinity",
    "node(s) didn't match pod anti-affinity rules": "InterPodAffinity",
    "node(s) didn't satisfy existing pods anti-affinity": "InterPodAffinity",
    "cannot allocate all claims": "DynamicResources",
    "resourceclaim not available on the node": "DynamicResources",
    WORDS: HEARD,
}
#: Nodes that it did not look at, since a plugin had named those that alone could do.
_LEFT_OUT = re.compile(r"node\(s\) didn't satisfy plugin(?:\(s\))? \[?([\w ]+)\]?")
SEVERAL_A_NODE = ("NodeResourcesFit", "VolumeBinding")
_HELPS, _IN_VAIN = "No preemption victims found for incoming pod", "Preemption is not helpful for scheduling"
_MESSAGE = re.compile(r"0/(\d+) nodes are available: (.*?)\.(?: (.*))?")


class UnknownWords(AssertionError):
    """It said something that is not known here: add it to the list."""


@dataclass
class TheirWords:
    """`refused`: by plugin, how often it is named; `whole`: what was said of the pod as a whole, before any node was
    looked at; `left_out`: the plugins for whose sake it did not look at some nodes; `helps`: of how many nodes it says
    that it might help if others were gone, None where it did not look."""

    nodes: int
    refused: Counter[str] = field(default_factory=Counter)
    whole: str = ""
    left_out: str = ""
    helps: int | None = None


def read(message: str) -> TheirWords:
    found = _MESSAGE.fullmatch(message.strip())
    if found is None:
        raise UnknownWords(f"not a verdict: {message}")
    words = TheirWords(int(found[1]))
    for part in found[2].split(", "):
        counted = re.fullmatch(r"(\d+) (.+)", part)
        if counted is None:
            words.whole = found[2]
            break
        if left_out := _LEFT_OUT.match(counted[2]):
            words.left_out = left_out[1]
        else:
            words.refused[_plugin(counted[2], message)] += int(counted[1])
    said = found[3] or ""
    if _HELPS in said or _IN_VAIN in said:
        helps = re.search(rf"(\d+) {_HELPS}", said)
        words.helps = int(helps[1]) if helps else 0
    return words


def _plugin(said: str, message: str) -> str:
    for begin, plugin in _PLUGINS.items():
        if said.startswith(begin):
            return plugin
    raise UnknownWords(f"{said!r} in: {message}")
