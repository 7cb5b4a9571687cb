"""What a Kubernetes pod asks for beyond what all work can: rules whose meaning only Kubernetes has.

Carried by `Shape.kubernetes`, None for all other work. Everything is resolved already (selectors, namespaces, volumes
and their nodes), so that a filter works with arrays over labels and tallies alone, and two pods of one template are
equal. Left to others: reading pods (`dovetail.kubernetes`), and saying again what is asked when a volume or a
namespace has changed.

Facts about nodes and pods that are no labels in Kubernetes are kept as labels all the same, under keys with a colon,
which no label of Kubernetes can have.
"""

from typing import Any, NamedTuple

from dovetail.model.requests.asks import AffinityRule, Selector, Term
from dovetail.model.requests.asks_json import company_from, selector_from, term_from

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
    """A topology spread constraint that must hold. `whom` None: nobody counts. `let_off`: so many fewer are counted in
    the domain of the one node that is looked at."""

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
    from all."""

    name: str
    nodes: tuple[Term, ...] | None


class VolumeClaim(NamedTuple):
    """A claim that is bound when its pod has a node: to the first of the volumes that is left and can be used from
    there, or else to one made for it where that is possible."""

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
    """`repels`: pods that must stay away from it once it runs. `asks` is False where filters have nothing to look at,
    as for most pods."""

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
        """Can a node not be judged for it by the node's own row alone?"""
        return self.together is not None or bool(self.spread) or bool(self.volumes and self.volumes.attached)

    def counted(self) -> list[Selector]:
        """Pods whose coming or going anywhere may let it in."""
        whom = [one.whom for one in self.spread] + ([] if self.together is None else [self.together.whom])
        return [one for one in whom if one is not None]


PLAIN = PodAsk()


def pod_ask_from(parts: list[Any]) -> PodAsk:
    """The inverse of writing it as JSON."""
    asks, node_name, features, together, spread, volumes, repels, devices = parts
    return PodAsk(
        asks,
        node_name,
        tuple(features),
        None if together is None else PodAffinityRule(_selector_from(together[0]), tuple(together[1]), together[2]),
        tuple(PodSpreadRule(one[0], one[1], _selector_from(one[2]), *one[3:]) for one in spread),
        None if volumes is None else _volumes_from(*volumes),
        tuple(map(company_from, repels)),
        None if devices is None else _devices_from(*devices),
    )


def _selector_from(parts: list[Any] | None) -> Selector | None:
    return None if parts is None else selector_from(parts)


def _terms_from(terms: list[list[list[Any]]] | None) -> tuple[Term, ...] | None:
    return None if terms is None else tuple(map(term_from, terms))


def _devices_from(refused: str, available: list[Any], marked: str) -> DeviceAsk:
    return DeviceAsk(refused, tuple([tuple(map(term_from, terms)) for terms in available]), marked)


def _volumes_from(
    refused: list[str], bound: list[Any], zones: list[Any], claims: list[Any], attached: list[list[str]]
) -> VolumeAsk:
    return VolumeAsk(
        (refused[0], refused[1]),
        tuple([tuple(map(term_from, terms)) for terms in bound]),
        tuple([(key, tuple(values)) for key, values in zones]),
        tuple(
            [
                VolumeClaim(
                    tuple([PodVolume(name, _terms_from(nodes)) for name, nodes in volumes]),
                    _terms_from(made_at),
                    node,
                    _terms_from(roomy),
                )
                for volumes, made_at, node, roomy in claims
            ]
        ),
        tuple([(driver, volume) for driver, volume in attached]),
    )
