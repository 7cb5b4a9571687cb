"""What must hold once a cluster has come to rest: our state is the API's, and nobody waits who could go somewhere."""

import asyncio
import time
from collections.abc import Collection
from typing import Any

from dovetail.cluster.views.view import View
from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.errors import ApiError
from dovetail.kubernetes.client.paths import CORE, NODES, PODS
from dovetail.kubernetes.pods import PodMeaning, gates_of, is_finished
from dovetail.kubernetes.scene import Scene
from dovetail.kubernetes.scheduler.auditor import Auditor

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
        except ApiError as error:
            found = [f"the API could not be read: {error}"]
        if time.monotonic() > due:
            break
        if found:
            await asyncio.sleep(AGAIN_S)
    return found


async def overlooked(api: Api, names: Collection[str]) -> list[str]:
    """Pods that wait though a node would take them, found with a fresh engine that knows only what the API says."""
    scene = Scene(time.time())
    objects = {"namespaces": await api.items(f"{CORE}/namespaces"), "nodes": await api.items(NODES)}
    scene.add_objects(objects)
    waiting: list[Json] = []
    for pod in await api.items(PODS):
        if pod["spec"].get("nodeName"):
            scene.place(pod, pod["spec"]["nodeName"])
        elif not (is_finished(pod) or gates_of(pod) or "deletionTimestamp" in pod["metadata"]):
            waiting.append(pod)
    cluster = scene.engine.state.cluster
    answers: dict[PodMeaning, list[str]] = {}
    found = []
    for pod in waiting:
        if pod["spec"].get("schedulerName") not in names:
            continue
        meaning = scene.reader.read(pod)
        if meaning not in answers:
            alive = scene.evaluator.run_filters(scene.asked(meaning), View(cluster)).alive
            answers[meaning] = [cluster.names[row] for row in alive.nonzero()[0]]
        if nodes := answers[meaning]:
            found.append(f"pod {pod['metadata']['name']} waits, and {', '.join(nodes[:3])} would take it")
    return found
