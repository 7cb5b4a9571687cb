"""What must hold once a cluster has come to rest: our state is the API's, and nobody waits who could go somewhere."""

import asyncio
import time
from collections.abc import Collection
from typing import Any

from dovetail.kubernetes.checking.cluster_replica import ClusterReplica
from dovetail.kubernetes.objects.pods import PodMeaning, gates_of, is_finished
from dovetail.kubernetes.scheduler.audit import Auditor
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError
from dovetail.kubernetes_client.paths import CORE, NODES, PODS

Json = dict[str, Any]

PATIENCE_S = 60.0
"""What differs for so long after the last change will not come right by itself."""
AGAIN_S = 0.5


async def differences_at_rest(api: Api, auditor: Auditor, names: Collection[str]) -> list[str]:
    """Those that do not go away; the API server may still be on its way back."""
    due = time.monotonic() + PATIENCE_S
    found = ["the API could not be read"]
    while found:
        try:
            found = [str(one) for one in await auditor.look()]
            found = found or await overlooked(api, names)
        except KubernetesApiError as error:
            found = [f"the API could not be read: {error}"]
        if time.monotonic() > due:
            break
        if found:
            await asyncio.sleep(AGAIN_S)
    return found


async def overlooked(api: Api, names: Collection[str]) -> list[str]:
    """Pods that wait though a node would take them, found with a fresh engine that knows only what the API says."""
    scene = ClusterReplica(time.time())
    objects = {"namespaces": await api.items(f"{CORE}/namespaces"), "nodes": await api.items(NODES)}
    scene.add_objects(objects)
    waiting: list[Json] = []
    for pod in await api.items(PODS):
        if pod["spec"].get("nodeName"):
            scene.place(pod, pod["spec"]["nodeName"])
        elif not (is_finished(pod) or gates_of(pod) or "deletionTimestamp" in pod["metadata"]):
            waiting.append(pod)
    nodes = [node["metadata"]["name"] for node in objects["nodes"]]
    answers: dict[PodMeaning, list[str]] = {}
    found = []
    for pod in waiting:
        if pod["spec"].get("schedulerName") not in names:
            continue
        meaning = scene.reader.read(pod)
        if meaning not in answers:
            scene.refresh()
            answers[meaning] = scene.questions.pods.feasibility(meaning.query, nodes).feasible
        if feasible := answers[meaning]:
            found.append(f"pod {pod['metadata']['name']} waits, and {', '.join(feasible[:3])} would take it")
    return found
