"""A snapshot of a Kubernetes cluster: nodes, pods and PodGroups, as our scheduler for pods sees them.

A pod is a workload with one task. Its terms are those that `objects` reads, so that a simulation filters and scores it
as our scheduler would. Volumes and claimed devices are not copied. Left to others: the way to the API.
"""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from dovetail.kubernetes.objects.annotations import AnnotationError
from dovetail.kubernetes.objects.gangs import GROUP_API, Gangs
from dovetail.kubernetes.objects.nodes import read_node
from dovetail.kubernetes.objects.pods import PodMeaning, PodReader, is_finished
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings, line_of
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError
from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.paths import CORE, NODES, PODS, collection
from dovetail.model.node import Node
from dovetail.model.requests.terms import Terms, terms_json
from dovetail.model.task import TaskState, WorkloadState
from dovetail.model.workloads.workload import RestartPolicy, Workload, WorkloadKind
from dovetail.snapshots.document import (
    FORMAT,
    VERSION,
    SnapshotDocument,
    SnapshotNode,
    SnapshotSource,
    SnapshotTask,
    SnapshotWorkload,
)

BACKEND = "kubernetes"
_WORDS = re.compile(r"[A-Za-z0-9]+")
_PLAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?", re.ASCII)
_STAYS = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")


async def kubernetes_snapshot(api: Api, name: str = "") -> SnapshotDocument:
    """Raises KubernetesApiError."""
    nodes, pods = await api.items(NODES), await api.items(PODS)
    namespaces = await api.items(collection(CORE, "namespaces"))
    groups: list[Json] = []
    with suppress(KubernetesApiError):  # a cluster without PodGroups has no such path
        groups = list(await api.items(GROUP_API))
    return document_of_cluster(nodes, pods, groups, namespaces, time.time(), name)


def document_of_cluster(
    nodes: Sequence[Json],
    pods: Sequence[Json],
    groups: Sequence[Json],
    namespaces: Sequence[Json],
    now: float,
    name: str = "",
) -> SnapshotDocument:
    settings = KubernetesSchedulerSettings()
    scheduler, profile = next(iter(settings.names.items()))
    reader = PodReader(line_of(scheduler), profile)
    reader.allocates = False
    for namespace in namespaces:
        reader.set_namespace(namespace)
    gangs = Gangs()
    for group in groups:
        gangs.set_group(group)
    there = [_node(node, row) for row, node in enumerate(nodes)]
    known = {one.node.name for one in there}
    terms: dict[str, int] = {}
    workloads: list[SnapshotWorkload] = []
    for pod in sorted(pods, key=lambda pod: (_created(pod, now), pod["metadata"]["name"])):
        on = pod["spec"].get("nodeName") or ""
        if is_finished(pod) or (on and on not in known):
            continue
        with suppress(AnnotationError):  # our scheduler leaves such a pod alone
            meaning = reader.read(pod, placed=bool(on))
            place = terms.setdefault(_terms(pod, meaning, gangs), len(terms))
            workloads.append(_workload(pod, len(workloads) + 1, place, on, now))
    return SnapshotDocument(
        format=FORMAT,
        version=VERSION,
        taken_at=now,
        source=SnapshotSource(kind="kubernetes", name=name),
        left_out=["containers, variables and volumes of pods", "claimed devices", "PodDisruptionBudgets"],
        settings=settings.engine(),
        nodes=there,
        workloads=workloads,
        terms=[_parsed(text) for text in terms],
        next_workload=len(workloads) + 1,
    )


def _parsed(text: str) -> dict[str, object]:
    import orjson

    found: dict[str, object] = orjson.loads(text)
    return found


def _terms(pod: Json, meaning: PodMeaning, gangs: Gangs) -> str:
    found: Terms = replace(meaning.terms, priority=meaning.priority)
    if meaning.gang:
        least = gangs.least((pod["metadata"]["namespace"], meaning.gang), meaning.gang_min) or 1
        found = replace(found, group=meaning.gang, group_min=least, loose=True)
    return terms_json(found)


def _node(node: Json, row: int) -> SnapshotNode:
    read = read_node(node, backend=BACKEND)
    marks = {key: value for key, value in read.labels.items() if not _is_plain(key, value)}
    plain = {key: value for key, value in read.labels.items() if key not in marks}
    checked = Node(name=read.name, backend=BACKEND, labels=plain, taints=read.taints, kinds=read.kinds)
    ready = next((one for one in (node.get("status") or {}).get("conditions") or () if one["type"] == "Ready"), None)
    online = ready is None or ready.get("status") == "True"
    state = {} if online else {"online": False, "reason": ready.get("reason", "") if ready else ""}
    made = checked.model_copy(update={"capacity": read.capacity})
    return SnapshotNode(node=made, row=row, marks=marks, **state)


def _is_plain(key: str, value: str) -> bool:
    return bool(_PLAIN.fullmatch(key)) and len(key) <= 253 and len(value) <= 63


def _workload(pod: Json, id_: int, terms: int, on: str, now: float) -> SnapshotWorkload:
    meta, status = pod["metadata"], pod.get("status") or {}
    created = _created(pod, now)
    owners = {owner.get("kind") for owner in meta.get("ownerReferences") or ()}
    stays = bool(owners.intersection(_STAYS)) or (not owners and pod["spec"].get("restartPolicy", "Always") == "Always")
    limit_s = pod["spec"].get("activeDeadlineSeconds")
    fields: dict[str, object] = {
        "name": _name(f"{meta['name']}"),
        "namespace": _name(meta["namespace"]),
        "kind": WorkloadKind.CONTAINER,
        **({"restart": RestartPolicy.ALWAYS} if stays else {}),
        **({"deadline": {"run_for": limit_s}} if limit_s else {}),
    }
    definition = Workload.model_validate(fields)
    if not on:
        return SnapshotWorkload(id=id_, definition=definition, submitted_at=created, terms=terms)
    started = _moment(status.get("startTime")) or created
    running = status.get("phase") == "Running"
    task = SnapshotTask(
        replica=0,
        state=TaskState.RUNNING if running else TaskState.BOUND,
        attempt=1,
        node=on,
        backend=BACKEND,
        placed_at=started,
        started_at=started if running else None,
    )
    state = WorkloadState.RUNNING if running else WorkloadState.STARTING
    return SnapshotWorkload(
        id=id_,
        definition=definition,
        submitted_at=created,
        terms=terms,
        state=state,
        started_at=started if running else None,
        tasks=[task],
    )


def _name(text: str) -> str:
    words = "-".join(_WORDS.findall(text))[:90]
    return words if words[:1].isalpha() else f"p-{words}"


def _created(pod: Json, now: float) -> float:
    return _moment(pod["metadata"].get("creationTimestamp")) or now


def _moment(text: str | None) -> float | None:
    return None if not text else datetime.fromisoformat(text).timestamp()
