"""The part of a pod's request that only Kubernetes defines: pod affinity, spread, volumes, devices.

It is `Shape.kubernetes`, None for all other work. Selectors, namespaces and volumes are resolved, so filters need only
label columns and selector counts, and pods of one template are equal. `dovetail.kubernetes` reads pods, and submits a
new request when a volume or namespace changes.

Facts that are not labels in Kubernetes are stored as labels too, under keys with a colon, which no real label can have.
"""

from typing import NamedTuple

from dovetail.model.requests.asks import AffinityRule, Selector, Term

#: Of nodes: its name, a feature it declares, how many volumes of a driver it can attach, that it has free devices for
#: certain claims, and one that all nodes have.
NODE_NAME = "field:metadata.name"
FEATURE, VOLUME_LIMIT, DEVICES = "feature:", "volume-limit:", "devices:"
EVERY_NODE = "every:node"
#: A node with `spec.unschedulable` also gets this taint.
UNSCHEDULABLE = "spec:unschedulable"
#: Of pods: what it holds of its node, or uses at all, that it is on its way out, and that it is yet to come.
PORT, DISK, CLAIM = "port:", "disk:", "claim:"
TERMINATING = "metadata:deletionTimestamp"
NOMINATED = "status:nominatedNodeName"


class PodAffinityRule(NamedTuple):
    """Required pod affinity: in one domain of each of these labels with a pod that all terms select. If the terms
    select the pod itself, the first such pod may go to any node with the labels."""

    whom: Selector | None  # None: selects no pod
    labels: tuple[str, ...]
    own: bool


class PodSpreadRule(NamedTuple):
    """A required topology spread constraint. `whom` None: no pod counts. `let_off`: the number of pods not counted in
    the domain of the evaluated node."""

    label: str
    max_skew: int
    whom: Selector | None
    own: bool  # the pod counts itself
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    let_off: int = 0


class PodVolume(NamedTuple):
    """A persistent volume that a claim may be bound to, and its node affinity: any of the terms; None: all nodes."""

    name: str
    nodes: tuple[Term, ...] | None


class VolumeClaim(NamedTuple):
    """A claim that is bound when its pod gets a node (WaitForFirstConsumer): to the first free volume that the node can
    use, or to one provisioned for it."""

    volumes: tuple[PodVolume, ...]
    made_at: tuple[Term, ...] | None  # where it can be provisioned: any of the terms; empty: anywhere; None: nowhere
    selected_node: str = ""  # being provisioned for this node
    fits_at: tuple[Term, ...] | None = None  # where the provisioner has capacity: any of the terms; None: everywhere


class VolumeAsk(NamedTuple):
    """`refused`: the plugin that refuses the pod on all nodes and why, or empty. `bound`: the node affinity terms of
    each bound volume, of which one must hold. `zones`: zone labels of volumes as (key, values)."""

    refused: tuple[str, str] = ("", "")
    bound: tuple[tuple[Term, ...], ...] = ()
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    claims: tuple[VolumeClaim, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()  # (driver, volume) that the node has to attach


class DeviceAsk(NamedTuple):
    """`refused`: why no node can take the pod now, or empty. `available`: the node terms of each allocated claim, of
    which one must hold. `marked`: the label of nodes that can satisfy the other claims; empty if there are none."""

    refused: str = ""
    available: tuple[tuple[Term, ...], ...] = ()
    marked: str = ""


class PodAsk(NamedTuple):
    """`repels`: pods that must not join it once it runs. `asks` is False if no filter needs to look at the pod, as for
    most pods."""

    asks: bool = False
    node_name: str = ""
    features: tuple[str, ...] = ()
    together: PodAffinityRule | None = None
    spread: tuple[PodSpreadRule, ...] = ()
    volumes: VolumeAsk | None = None
    repels: tuple[AffinityRule, ...] = ()
    devices: DeviceAsk | None = None

    @property
    def needs_other_nodes(self) -> bool:
        """Do its filters need more than a node's own row?"""
        return self.together is not None or bool(self.spread) or bool(self.volumes and self.volumes.attached)

    def counted(self) -> list[Selector]:
        """Selectors of pods whose arrival or end anywhere may make it fit."""
        whom = [one.whom for one in self.spread] + ([] if self.together is None else [self.together.whom])
        return [one for one in whom if one is not None]


PLAIN = PodAsk()
