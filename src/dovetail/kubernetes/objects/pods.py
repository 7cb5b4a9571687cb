"""Reads a v1 Pod as work of the engine: what it asks for (`Terms`), how other work identifies it, its priority.

Pods of one template mean the same, so the result is cached by everything about a pod that matters here. What depends
on volumes or namespace labels is read again when those change.
Left to others: scheduling gates, and telling the engine of pods.
"""

import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.engine.questions.pod_answers import PodQuery
from dovetail.kubernetes.devices.claims import DeviceClaims, claims_devices
from dovetail.kubernetes.objects import holdings
from dovetail.kubernetes.objects.affinity import PREFERRED, REQUIRED, affinity_rules_of, spread_of
from dovetail.kubernetes.objects.annotations import NOTHING, AnnotatedAsk, AnnotationError, asked_in, own_of
from dovetail.kubernetes.objects.gangs import gang_in
from dovetail.kubernetes.objects.selectors import node_term, node_terms
from dovetail.kubernetes.objects.storage import Storage, claim_names
from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.pod_requests import requests_of
from dovetail.model.requests.asks import AffinityRule, SpreadRule, Tolerance, WeightedMatch
from dovetail.model.requests.pod_ask import NOMINATED, PLAIN, TERMINATING, UNSCHEDULABLE, PodAsk, VolumeAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import near_own
from dovetail.model.requests.task_identity import POD_WORKLOAD, TaskIdentity, pod_identity
from dovetail.model.requests.terms import Terms
from dovetail.model.workloads.image import canonical
from dovetail.model.workloads.roles import GROUP_LABEL
from dovetail.model.workloads.selection import Effect, Taint, TolerationOperator
from dovetail.model.workloads.workload import WorkloadKind

PROFILE = "kubernetes"
KEPT = 16384
_NOTHING: Json = {}
_MARKED = Taint(key="node.kubernetes.io/unschedulable", effect=Effect.NO_SCHEDULE)
_TOLERATED_MARK = Tolerance(UNSCHEDULABLE, TolerationOperator.EXISTS, "", None)
_OPERATORS = {str(operator): operator for operator in TolerationOperator}
_OF_CONTAINERS = ("resources", "ports", "image", "restartPolicy", "restartPolicyRules", "name")
_OF_PODS = (
    *("nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "overhead", "resources"),
    *("priority", "preemptionPolicy", "hostNetwork", "hostUsers"),
)
_OF_PLACED_PODS = tuple(name for name in _OF_PODS if name != "nodeName")
_DISKS = ("persistentVolumeClaim", "ephemeral", "gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")
_RESTART_ALL, _USERS_ON_HOST = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
SUCCEEDED = "Succeeded"
_FINISHED = (SUCCEEDED, "Failed")


@dataclass(frozen=True, slots=True)
class PodMeaning:
    """`preempts`: it may evict less urgent pods. `gang`: the gang it starts with, empty if none; `gang_min`: the least
    size, as the pod itself gives it, 0 if it does not."""

    terms: Terms
    identity: TaskIdentity
    priority: int
    preempts: bool
    gang: str = ""
    gang_min: int = 0

    @property
    def query(self) -> PodQuery:
        """The pod as the engine is asked about it."""
        return PodQuery(self.terms.shape, self.identity, self.priority)

    @property
    def devices_mark(self) -> str:
        """The label of nodes that can provide the devices its claims lack; empty: they lack none."""
        ask = self.terms.shape.kubernetes
        return "" if ask is None or ask.devices is None else ask.devices.marked


def is_finished(pod: Json) -> bool:
    """It holds nothing on its node any more."""
    return (pod.get("status") or _NOTHING).get("phase") in _FINISHED


def gates_of(pod: Json) -> tuple[str, ...]:
    """Its scheduling gates."""
    return tuple([gate["name"] for gate in pod["spec"].get("schedulingGates") or ()])


class PodReader:
    """Keep one for each API server. `allocates`: we allocate the devices that pods claim; otherwise claims are
    ignored."""

    def __init__(self, scheduler: str = "default", profile: str = PROFILE) -> None:
        self.storage = Storage()
        self.devices, self.allocates = DeviceClaims(), True
        self.namespaces: dict[str, dict[str, str]] = {}
        self._scheduler, self._profile = scheduler, profile
        self._kept: dict[bytes, PodMeaning] = {}
        self._with_volumes: dict[bytes, PodMeaning] = {}
        self._volumes_as_of = 0

    def set_namespace(self, namespace: Json) -> None:
        name, labels = namespace["metadata"]["name"], dict(namespace["metadata"].get("labels") or {})
        if self.namespaces.get(name) != labels:
            self.namespaces[name] = labels
            self._forget()

    def drop_namespace(self, name: str) -> None:
        if self.namespaces.pop(name, None) is not None:
            self._forget()

    def read(self, pod: Json, *, placed: bool = False) -> PodMeaning:
        """Raises AnnotationError for a pending pod. `placed`: on its node it uses what it has, and asks for nothing."""
        spec, meta = pod["spec"], pod["metadata"]
        if self.allocates and not placed and claims_devices(pod):
            return self._meaning(pod, spec, meta, placed)  # not cached: equal pods may have different claims
        volumes = [volume for volume in spec.get("volumes") or () if any(name in volume for name in _DISKS)]
        key = _key(pod, placed, volumes)
        kept = self._kept
        if volumes:
            if self._volumes_as_of != self.storage.version:
                self._volumes_as_of = self.storage.version
                self._with_volumes.clear()
            kept = self._with_volumes
        found = kept.get(key)
        if found is None:
            if len(kept) >= KEPT:
                kept.clear()
            found = kept[key] = self._meaning(pod, spec, meta, placed)
        return found

    def _forget(self) -> None:
        self._kept.clear()
        self._with_volumes.clear()

    def _meaning(self, pod: Json, spec: Json, meta: Json, placed: bool) -> PodMeaning:
        namespace, labels = meta["namespace"], meta.get("labels") or {}
        affinity = spec.get("affinity") or _NOTHING
        together, rules, repels = affinity_rules_of(affinity, namespace, labels, self.namespaces)
        marks, held = self._held(pod, spec, namespace)
        asked = _asked(meta, placed)
        # A terminating pod still holds its capacity, but its gang does not count on it any more.
        gang = "" if meta.get("deletionTimestamp") else asked.gang or gang_in(labels)
        if gang:
            marks[GROUP_LABEL] = gang
        if asked.workload:
            marks[POD_WORKLOAD[0]] = asked.workload
        if meta.get("deletionTimestamp"):
            marks[TERMINATING] = ""
        if placed and not spec.get("nodeName"):
            marks[NOMINATED] = ""
        if placed:
            attached = self.storage.attached(pod)
            ask = PLAIN._replace(repels=repels, volumes=VolumeAsk(attached=attached) if attached else None)
            shape = self._shape(pod, spec, _NOTHING, (), ask, (), asked, placed=True)
        else:
            firm, spread = spread_of(spec.get("topologySpreadConstraints") or [], namespace, labels)
            features, volumes = _features(spec), self.storage.ask_of(pod)
            devices = self.devices.ask_of(pod) if self.allocates else None
            ask = PodAsk(
                asks=bool(spec.get("nodeName") or features or together or firm or volumes or devices),
                node_name=spec.get("nodeName") or "",
                features=features,
                together=together,
                spread=firm,
                volumes=volumes,
                repels=repels,
                devices=devices,
            )
            near = near_own(asked.layout, namespace, gang) if asked.layout is not None and gang else ()
            node_affinity = affinity.get("nodeAffinity") or _NOTHING
            shape = self._shape(pod, spec, node_affinity, (*held, *rules, *near), ask, spread, asked, placed=False)
        priority = spec.get("priority") or 0
        known_by = tuple(sorted({**labels, **marks}.items()))
        preempts = spec.get("preemptionPolicy") != "Never"
        terms = Terms(shape, labels=known_by, priority=priority, may_preempt=preempts)
        identity = pod_identity(namespace, known_by, ask, shape.traffic, shape.bandwidth_mbps)
        return PodMeaning(terms, identity, priority, preempts, gang, asked.gang_min)

    def _shape(
        self,
        pod: Json,
        spec: Json,
        node_affinity: Json,
        rules: tuple[AffinityRule, ...],
        ask: PodAsk,
        spread: tuple[SpreadRule, ...],
        asked: AnnotatedAsk,
        *,
        placed: bool,
    ) -> Shape:
        selector = {} if placed else spec.get("nodeSelector") or {}
        images = [container.get("image") or "" for container in spec.get("containers") or ()]
        return Shape(
            amounts=requests_of(pod, with_status=placed),
            kind=WorkloadKind.CONTAINER,
            scheduler=self._scheduler,
            profile=self._profile,
            namespace="" if asked is NOTHING else pod["metadata"]["namespace"],
            node_selector=tuple(sorted(selector.items())),
            required=node_terms(node_affinity.get(REQUIRED)) or (),
            preferred=_preferred(node_affinity),
            tolerations=_tolerations(spec.get("tolerations") or ()),
            workload_affinity=rules,
            spread=spread,
            wants=() if placed else asked.wants,
            traffic=asked.traffic,
            layout=asked.layout,
            image="" if placed or not images or not images[0] else canonical(images[0]),
            kubernetes=ask,
        )

    def _held(self, pod: Json, spec: Json, namespace: str) -> tuple[dict[str, str], list[AffinityRule]]:
        """Marks of what it holds, and rules against pods that hold the same."""
        ports = holdings.ports_of(spec)
        marks, rules = holdings.port_marks(ports), holdings.port_rules(ports)
        volumes = spec.get("volumes") or ()
        if volumes:
            uses = holdings.disk_uses(volumes)
            claims = [name for name, own in claim_names(pod) if not own]
            marks |= uses | {holdings.claim_mark(namespace, claim): "" for claim in claims}
            alone = self.storage.for_one_pod(namespace, claims)
            rules += holdings.disk_rules(uses)
            rules += [holdings.claim_rule(holdings.claim_mark(namespace, claim)) for claim in alone]
        return marks, rules


def _key(pod: Json, placed: bool, volumes: list[Json]) -> bytes:
    """Everything about a pod that matters here, as bytes, which are the quickest to compare and to hash."""
    spec, meta = pod["spec"], pod["metadata"]
    found: list[Any] = [placed, meta["namespace"], meta.get("labels"), "deletionTimestamp" in meta]
    found.append(own_of(meta.get("annotations")))
    # The node of a placed pod does not matter: it asks for nothing any more.
    found += [spec.get(name) for name in (_OF_PODS if not placed else _OF_PLACED_PODS)]
    for container in spec["containers"]:
        found += [container.get(name) for name in _OF_CONTAINERS]
    for container in spec.get("initContainers") or ():
        found.append("init")
        found += [container.get(name) for name in _OF_CONTAINERS]
    if volumes:
        own = [volume for volume in volumes if "ephemeral" in volume]
        found += [volumes, (meta["name"], meta.get("uid")) if own else None]
    if placed:
        status = pod.get("status") or _NOTHING
        each = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
        resized = [(one["name"], one.get("resources"), one.get("allocatedResources")) for one in each]
        found += [resized, status.get("resources"), status.get("allocatedResources")]
        found += [one for one in status.get("conditions") or () if one.get("type") == "PodResizePending"]
    return marshal.dumps(found, 2)  # later versions write equal things differently


def _asked(meta: Json, placed: bool) -> AnnotatedAsk:
    """What its annotations say. Annotations of a pod that has a node are not validated."""
    own = own_of(meta.get("annotations"))
    if not own:
        return NOTHING
    try:
        return asked_in(own)
    except AnnotationError:
        if placed:
            return NOTHING
        raise


def _features(spec: Json) -> tuple[str, ...]:
    """Features that its node must declare."""
    found = []
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    rules = [rule for container in containers for rule in container.get("restartPolicyRules") or ()]
    if any(rule.get("action") == "RestartAllContainers" for rule in rules):
        found.append(_RESTART_ALL)
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        found.append(_USERS_ON_HOST)
    return tuple(found)


def _preferred(node_affinity: Json) -> tuple[WeightedMatch, ...]:
    found = []
    for preferred in node_affinity.get(PREFERRED) or ():
        term = node_term(preferred["preference"])
        if preferred.get("weight") and term is not None:
            found.append(WeightedMatch(preferred["weight"], term))
    return tuple(found)


def _tolerations(tolerations: Sequence[Json]) -> tuple[Tolerance, ...]:
    found = []
    for one in tolerations:
        operator = _OPERATORS.get(one.get("operator") or "Equal")
        if operator is None:
            continue
        effect = Effect(one["effect"]) if one.get("effect") else None
        seconds = one.get("tolerationSeconds")
        found.append(Tolerance(one.get("key") or None, operator, one.get("value") or "", effect, seconds))
    if any(one.tolerates(_MARKED) for one in found):
        found.append(_TOLERATED_MARK)
    return tuple(found)
