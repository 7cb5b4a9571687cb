"""Volumes, claims and storage classes, and where the claims of a pod let it go.

Guarantees: answers follow from the latest objects; `version` changes with each of them. Not covered: in-tree drivers
that nodes replace by CSI drivers (CSI migration), and attachments that belong to no pod.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dovetail.kubernetes.objects.provisioning import Provisioning
from dovetail.kubernetes.objects.selectors import label_term, node_terms, selects
from dovetail.kubernetes_client.objects import Json, NamespacedName, is_controlled_by, namespaced_name, version_of
from dovetail.kubernetes_client.quantity import nanos
from dovetail.model.requests.asks import Term
from dovetail.model.requests.pod_ask import PodVolume, VolumeAsk, VolumeClaim
from dovetail.placement.filters.pod_volumes import PLACES

_BOUND = "pv.kubernetes.io/bind-completed"
#: Of a claim: a volume is to be provisioned on this node. Of a volume: a scheduler bound it, and may release it.
SELECTED_NODE, BOUND_BY_SCHEDULER = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bound-by-controller"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_ONE_POD = "ReadWriteOncePod"
_RESTRICTIONS, _BINDING, _ZONES = "VolumeRestrictions", "VolumeBinding", "VolumeZone"
_NO_CLASS = ""


class _Refused(Exception):
    """Every node refuses the pod: kube-scheduler's plugin, and why."""


class ClaimBinding(NamedTuple):
    """`volume`: the volume that the claim gets, as of `volume_version`; empty: one is provisioned. `asked`: that is
    already written to the API, and only has to be carried out."""

    namespace: str
    claim: str
    uid: str
    volume: str = ""
    volume_version: str = ""
    asked: bool = False


class Storage:
    def __init__(self) -> None:
        self._version = 0
        self._volumes: dict[str, Json] = {}
        self._by_class: dict[str, dict[str, None]] = {}
        self._claims: dict[NamespacedName, Json] = {}
        self.provisioning = Provisioning()

    @property
    def version(self) -> int:
        return self._version + self.provisioning.version

    # --- what there is ---------------------------------------------------------------------------------------

    def set_volume(self, volume: Json) -> None:
        name = volume["metadata"]["name"]
        self.drop_volume(name)
        self._volumes[name] = volume
        self._by_class.setdefault(_class_of(volume), {})[name] = None

    def drop_volume(self, name: str) -> None:
        self._version += 1
        if (volume := self._volumes.pop(name, None)) is not None:
            self._by_class[_class_of(volume)].pop(name, None)

    def set_claim(self, claim: Json) -> None:
        self._version += 1
        self._claims[namespaced_name(claim)] = claim

    def drop_claim(self, namespace: str, name: str) -> None:
        self._version += 1
        self._claims.pop((namespace, name), None)

    # --- what it means ---------------------------------------------------------------------------------------

    def for_one_pod(self, namespace: str, names: Iterable[str]) -> list[str]:
        """Which of these claims only a single pod may use."""
        claims = [(name, self._claims.get((namespace, name))) for name in names]
        return [name for name, claim in claims if claim and _ONE_POD in (claim["spec"].get("accessModes") or ())]

    def attached(self, pod: Json) -> tuple[tuple[str, str], ...]:
        """Volumes that the node has to attach for the pod; missing claims are left out."""
        found = [self._driver(claim) for claim in self._claims_of(pod)]
        return tuple(dict.fromkeys([one for one in found if one is not None]))

    def ask_of(self, pod: Json) -> VolumeAsk | None:
        """What the claims of a pending pod ask of nodes; None if it has none."""
        names = claim_names(pod)
        if not names:
            return None
        try:
            return self._ask_of(pod, names)
        except _Refused as refused:
            return VolumeAsk(refused=(refused.args[0], refused.args[1]))

    def _ask_of(self, pod: Json, names: list[tuple[str, bool]]) -> VolumeAsk:
        namespace = pod["metadata"]["namespace"]
        for name, own in names:
            if not own and (namespace, name) not in self._claims:
                raise _Refused(_RESTRICTIONS, f"the pod's claim {name} does not exist")
        claims = [self._claim(pod, name, own) for name, own in names]
        bound = [claim for claim in claims if _is_bound(claim)]
        unbound = [claim for claim in claims if not _is_bound(claim)]
        for claim in unbound:
            if claim["spec"].get("volumeName") or not self.provisioning.waits_for_pod(_class_of(claim)):
                raise _Refused(_BINDING, f"claim {claim['metadata']['name']} is not bound, and its pod cannot bind it")
        zones = [zone for claim in bound for zone in self._zones(claim)]
        reach = [_nodes_of(self._volumes[claim["spec"]["volumeName"]]) for claim in bound]
        return VolumeAsk(
            bound=tuple([terms for terms in reach if terms is not None]),
            zones=tuple(dict.fromkeys(zones)),
            claims=tuple([self._to_bind(claim) for claim in _in_turn(unbound)]),
            attached=self.attached(pod),
        )

    def bindings(self, pod: Json, labels: Mapping[str, str]) -> list[ClaimBinding] | None:
        """Volumes for the pod's claims that wait for its node, on a node with these labels, which include its name;
        None: a claim gets no volume there.

        The choice follows the filter (`placement/filters/pod_volumes.py`): claim by claim, each gets the first volume
        left that the node can use, or else one is provisioned there.
        """
        taken: set[str] = set()
        found = []
        for claim in _in_turn([claim for claim in self._claims_of(pod) if not _is_bound(claim)]):
            ask = self._to_bind(claim)
            name = *namespaced_name(claim), claim["metadata"].get("uid") or ""
            usable = [one.name for one in ask.volumes if one.name not in taken and _holds(one.nodes, labels)]
            if usable:
                taken.add(usable[0])
                volume = self._volumes[usable[0]]
                asked = bool((volume["spec"].get("claimRef") or {}).get("uid"))
                version = volume["metadata"].get("resourceVersion") or ""
                found.append(ClaimBinding(*name, usable[0], version, asked))
            elif ask.made_at is not None and _holds(ask.made_at or None, labels) and _holds(ask.fits_at, labels):
                found.append(ClaimBinding(*name, asked=bool(ask.selected_node)))
            else:
                return None
        return found

    def has_come_about(self, binding: ClaimBinding, node: str, since: int) -> bool | None:
        """Is the claim bound? None: it is not, and the request written in version `since` was withdrawn."""
        claim = self._claims.get((binding.namespace, binding.claim))
        if claim is None or _is_bound(claim):
            return None if claim is None else True
        if not binding.volume:
            stands = _selected(claim) == node
            return False if stands or version_of(claim) < since else None
        volume = self._volumes.get(binding.volume)
        if volume is None:
            return None
        stands = _is_for(volume["spec"].get("claimRef") or {}, claim)
        return False if stands or version_of(volume) < since else None

    def _claims_of(self, pod: Json) -> list[Json]:
        """Those that exist."""
        names = [(pod["metadata"]["namespace"], name) for name, _ in claim_names(pod)]
        return [self._claims[name] for name in names if name in self._claims]

    def _claim(self, pod: Json, name: str, own: bool) -> Json:
        claim = self._claims.get((pod["metadata"]["namespace"], name))
        if claim is None:
            raise _Refused(_BINDING, f"claim {name} of an ephemeral volume is not there yet")
        if (claim.get("status") or {}).get("phase") == "Lost":
            raise _Refused(_BINDING, f"claim {name} is bound to a volume that does not exist")
        if claim["metadata"].get("deletionTimestamp"):
            raise _Refused(_BINDING, f"claim {name} is being deleted")
        if own and not is_controlled_by(claim, pod["metadata"].get("uid")):
            raise _Refused(_BINDING, f"claim {name} was not made for this pod")
        return claim

    def _zones(self, claim: Json) -> list[tuple[str, tuple[str, ...]]]:
        name = claim["spec"]["volumeName"]
        volume = self._volumes.get(name)
        if volume is None:
            raise _Refused(_ZONES, f"volume {name} does not exist")
        labels = volume["metadata"].get("labels") or {}
        found = []
        for key in PLACES:
            values = tuple([value.strip() for value in labels[key].split("__")]) if key in labels else ()
            if values and all(values):
                found.append((key, tuple(sorted(values))))
        return found

    def _driver(self, claim: Json) -> tuple[str, str] | None:
        volume = self._volumes.get(claim["spec"].get("volumeName") or "")
        if volume is not None:
            csi = volume["spec"].get("csi")
            return None if csi is None else (csi["driver"], csi["volumeHandle"])
        provisioner = self.provisioning.provisioner(_class_of(claim))
        return None if provisioner is None else (provisioner, CLAIM_OF + "/".join(namespaced_name(claim)))

    def _to_bind(self, claim: Json) -> VolumeClaim:
        name, provisioning = _class_of(claim), self.provisioning
        volumes = () if _selected(claim) else self._candidates(claim, name)
        capacity = provisioning.with_capacity(name, _size(claim))
        return VolumeClaim(volumes, provisioning.allowed(name), _selected(claim), capacity)

    def _candidates(self, claim: Json, class_name: str) -> tuple[PodVolume, ...]:
        """Volumes it may be bound to, the smallest first; or the one that is reserved for it."""
        spec, asked = claim["spec"], _size(claim)
        term = label_term(spec.get("selector")) if spec.get("selector") is not None else ()
        found: list[tuple[int, PodVolume]] = []
        for name in self._by_class.get(class_name, {}):
            volume = self._volumes[name]
            size = nanos(str((volume["spec"].get("capacity") or {}).get("storage", "0")))
            if size < asked or not _suits(volume, spec):
                continue
            one = PodVolume(name, _nodes_of(volume))
            if volume["spec"].get("claimRef") is not None:
                if _is_for(volume["spec"]["claimRef"], claim):
                    return (one,)
                continue
            available = (volume.get("status") or {}).get("phase") == "Available"
            modes = set(spec.get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ())
            if available and modes and selects(term, volume["metadata"].get("labels") or {}):
                found.append((size, one))
        return tuple([one for _, one in sorted(found, key=lambda pair: pair[0])])


#: Before the name of a claim that has no volume yet: what its node will have to attach.
CLAIM_OF = "claim "


def claim_names(pod: Json) -> list[tuple[str, bool]]:
    """The claims of a pod, and whether each must have been created for it."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            found.append((claim["claimName"], False))
        elif volume.get("ephemeral") is not None:
            found.append((f"{pod['metadata']['name']}-{volume['name']}", True))
    return found


def _holds(terms: tuple[Term, ...] | None, labels: Mapping[str, str]) -> bool:
    return terms is None or any(selects(term, labels) for term in terms)


def _in_turn(unbound: list[Json]) -> list[Json]:
    """Claims whose volume is being provisioned come first; then the smallest."""
    chosen = [claim for claim in unbound if _selected(claim)]
    return chosen + [claim for claim in sorted(unbound, key=_size) if not _selected(claim)]


def _is_bound(claim: Json) -> bool:
    return bool(claim["spec"].get("volumeName")) and _BOUND in (claim["metadata"].get("annotations") or {})


def _selected(claim: Json) -> str:
    return str((claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, ""))


def _size(claim: Json) -> int:
    return nanos(str(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")))


def _class_of(item: Json) -> str:
    """Of a volume or a claim."""
    old = (item["metadata"].get("annotations") or {}).get(_OLD_CLASS)
    return str(item["spec"].get("storageClassName") or _NO_CLASS if old is None else old)


def _is_for(reference: Json, claim: Json) -> bool:
    meta = claim["metadata"]
    same = reference.get("name") == meta["name"] and reference.get("namespace") == meta["namespace"]
    return same and (not reference.get("uid") or reference["uid"] == meta.get("uid"))


def _suits(volume: Json, claim: Json) -> bool:
    mode, attributes = "volumeMode", "volumeAttributesClassName"
    spec = volume["spec"]
    same_mode = (spec.get(mode) or "Filesystem") == (claim.get(mode) or "Filesystem")
    same_attributes = (spec.get(attributes) or "") == (claim.get(attributes) or "")
    return same_mode and same_attributes and not volume["metadata"].get("deletionTimestamp")


def _nodes_of(volume: Json) -> tuple[Term, ...] | None:
    """Where a volume can be used: any of the terms; None: everywhere."""
    return node_terms((volume["spec"].get("nodeAffinity") or {}).get("required"), fields=False)
