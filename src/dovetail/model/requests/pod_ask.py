"""What a Kubernetes pod asks for beyond what all work can: rules whose meaning only Kubernetes has.

Carried by `Shape.kubernetes`, None for all other work. Everything is resolved already (selectors, namespaces, volumes
and their nodes), so that a filter works with arrays over labels and selector counts alone, and two pods of one template
are equal.
Left to others: reading pods (`dovetail.kubernetes`), and making a new shape when a volume or a namespace has changed.

Facts about nodes and pods that are no labels in Kubernetes are stored as labels all the same, under keys with a colon,
which no Kubernetes label can have.
"""

from typing import NamedTuple

from dovetail.model.requests.asks import AffinityRule, Selector, Term

#: Of nodes: its name, a feature it declares, how many volumes of a driver it can attach, that it has free devices for
#: certain claims, and one that all nodes have.
NODE_NAME = "field:metadata.name"
FEATURE, VOLUME_LIMIT, DEVICES = "feature:", "volume-limit:", "devices:"
EVERY_NODE = "every:node"
#: A node marked `spec.unschedulable` bears this taint beside those it has.
UNSCHEDULABLE = "spec:unschedulable"
#: Of pods: what it holds of its node, or uses at all, that it is on its way out, and that it is yet to come.
PORT, DISK, CLAIM = "port:", "disk:", "claim:"
TERMINATING = "metadata:deletionTimestamp"
NOMINATED = "status:nominatedNodeName"


class PodAffinityRule(NamedTuple):
    """Required pod affinity: in one domain, by each of these labels, with a pod that all terms select. The first of
    those that select themselves may go wherever the labels are."""

    whom: Selector | None  # None: nobody can be
    labels: tuple[str, ...]
    own: bool


class PodSpreadRule(NamedTuple):
    """A required topology spread constraint. `whom` None: no pod counts. `let_off`: so many fewer are counted in the
    domain of the one node that is evaluated."""

    label: str
    max_skew: int
    whom: Selector | None
    own: bool  # the pod counts itself
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    let_off: int = 0


class PodVolume(NamedTuple):
    """A persistent volume that a claim may be bound to, and the nodes it can be used from: any of the terms; None:
    all."""

    name: str
    nodes: tuple[Term, ...] | None


class VolumeClaim(NamedTuple):
    """A claim that is bound once its pod has a node: to the first volume that is left and usable from there, or else to
    a newly provisioned one where that is possible."""

    volumes: tuple[PodVolume, ...]
    made_at: tuple[Term, ...] | None  # any of the terms; none at all: anywhere; None: nowhere
    selected_node: str = ""  # one is being made for it there
    roomy: tuple[Term, ...] | None = None  # who makes it has room for it there: any of the terms; None: everywhere


class VolumeAsk(NamedTuple):
    """`refused`: the plugin that refuses the pod on all nodes and why, or empty; `bound`: of each bound volume with a
    say in it, the terms of which one must hold; `zones`: labels of volumes as (key, values)."""

    refused: tuple[str, str] = ("", "")
    bound: tuple[tuple[Term, ...], ...] = ()
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    claims: tuple[VolumeClaim, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()  # (driver, volume) that the node has to attach


class DeviceAsk(NamedTuple):
    """`refused`: why the pod can go nowhere as things are, or empty; `available`: of each claim that has its devices,
    the terms of which one must hold; `marked`: the label of the nodes where the others can get theirs, empty if there
    are no others."""

    refused: str = ""
    available: tuple[tuple[Term, ...], ...] = ()
    marked: str = ""


class PodAsk(NamedTuple):
    """`repels`: pods that must stay away from it once it runs. `asks` is False where filters have nothing to decide, as
    for most pods."""

    asks: bool = False
    node_name: str = ""
    features: tuple[str, ...] = ()
    together: PodAffinityRule | None = None
    spread: tuple[PodSpreadRule, ...] = ()
    volumes: VolumeAsk | None = None
    repels: tuple[AffinityRule, ...] = ()
    devices: DeviceAsk | None = None

    @property
    def is_social(self) -> bool:
        """Is the pod non-local: does a node's own row not decide whether the node suits it?"""
        return self.together is not None or bool(self.spread) or bool(self.volumes and self.volumes.attached)

    def counted(self) -> list[Selector]:
        """Pods that may make it fit when one of them comes or goes anywhere."""
        whom = [one.whom for one in self.spread] + ([] if self.together is None else [self.together.whom])
        return [one for one in whom if one is not None]


PLAIN = PodAsk()
