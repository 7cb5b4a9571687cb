"""From which nodes a slice, or one device of it, can be had: one node, nodes that a selector chooses, or all.

ResourceSlices and their devices say it in the same fields. What says none of them can be had from nowhere: it may be
meant in a way that is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.kubernetes.devices.device import Json
from dovetail.kubernetes.objects.selectors import node_terms, selects
from dovetail.model.requests.asks import Term
from dovetail.model.requests.pod_ask import NODE_NAME


@dataclass(frozen=True, slots=True)
class DeviceReach:
    """`node`: the only one; `terms`: of which one must hold; `everywhere`: all of them."""

    node: str = ""
    everywhere: bool = False
    terms: tuple[Term, ...] = ()

    def has(self, labels: Mapping[str, str]) -> bool:
        """A node by its labels, its name among them as NODE_NAME."""
        if self.node:
            return labels[NODE_NAME] == self.node
        return self.everywhere or any(selects(term, labels) for term in self.terms)


def reach_of(said: Json) -> DeviceReach:
    """`said`: the spec of a slice, or a device of one that leaves it to its devices."""
    if node := said.get("nodeName"):
        return DeviceReach(node=node)
    if said.get("allNodes"):
        return DeviceReach(everywhere=True)
    return DeviceReach(terms=node_terms((said.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()))
