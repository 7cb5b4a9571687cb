"""What a scheduler does to pods: create, bind, set conditions, nominate, delete."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import orjson

from dovetail.kubernetes_client.api import STRATEGIC_PATCH, Api, JsonObject
from dovetail.kubernetes_client.errors import (
    RETRIABLE,
    AlreadyExists,
    KubernetesApiError,
    ObjectConflict,
    ObjectNotFound,
)
from dovetail.kubernetes_client.paths import CORE, collection, pod
from dovetail.model.backoff import Backoff

_log = logging.getLogger(__name__)


async def bind(api: Api, namespace: str, name: str, node: str, uid: str | None = None) -> None:
    """Raises ObjectConflict if the pod has a node, is another (`uid`) or is being deleted; ObjectNotFound if there is
    none. After ApiUnreachable the pod may be bound: look it up."""
    about = {"name": name, "uid": uid} if uid else {"name": name}
    body = {"metadata": about, "target": {"kind": "Node", "name": node}}
    await api.send("POST", pod(namespace, name, "binding"), None, orjson.dumps(body))


async def bind_surely(api: Api, namespace: str, name: str, node: str, uid: str | None, backoff: Backoff) -> str:
    """Until the server has answered: empty if the pod is bound, else why not. A lost answer is looked up."""
    while True:
        try:
            await bind(api, namespace, name, node, uid)
        except RETRIABLE as error:
            _log.info("binding %s/%s to %s: %s", namespace, name, node, error)
        except ObjectNotFound:
            return "the pod is gone"
        except ObjectConflict as error:
            return await _after_conflict(api, namespace, name, node, uid, error)
        except KubernetesApiError as error:
            return str(error)
        else:
            return ""
        await asyncio.sleep(backoff.next_s())


async def _after_conflict(
    api: Api, namespace: str, name: str, node: str, uid: str | None, conflict: ObjectConflict
) -> str:
    """The conflict may be with our own binding, if its answer was lost. Empty: the pod is bound to the node; else why
    not."""
    try:
        found = await api.get(pod(namespace, name))
    except ObjectNotFound:
        return "the pod is gone"
    except KubernetesApiError as error:
        return f"{conflict}; {error}"
    if uid and found["metadata"]["uid"] != uid:
        return "the pod is gone, and another has its name"
    there = found["spec"].get("nodeName") or ""
    if there == node:
        return ""
    return f"it was bound to {there} by somebody else" if there else str(conflict)


async def patch_status(api: Api, namespace: str, name: str, status: JsonObject, uid: str | None = None) -> JsonObject:
    """Fields of the pod's status; conditions are merged by their type. A pod with another uid: Conflict."""
    body: JsonObject = {"status": status}
    if uid:
        body["metadata"] = {"uid": uid}
    return await api.patch(pod(namespace, name, "status"), body, kind=STRATEGIC_PATCH)


async def nominate(
    api: Api, namespace: str, name: str, node: str | None, conditions: Sequence[Any] = (), uid: str | None = None
) -> JsonObject:
    """Records the node on which space is being freed for a pod; None takes it back."""
    status: JsonObject = {"nominatedNodeName": node}
    if conditions:
        status["conditions"] = list(conditions)
    return await patch_status(api, namespace, name, status, uid)


async def delete(api: Api, namespace: str, name: str, *, grace_s: int | None = None, uid: str | None = None) -> bool:
    """False: there was none. With a `uid`, only that one is deleted, else Conflict. No `grace_s`: as its spec says."""
    body: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if grace_s is not None:
        body["gracePeriodSeconds"] = grace_s
    if uid:
        body["preconditions"] = {"uid": uid}
    try:
        await api.send("DELETE", pod(namespace, name), None, orjson.dumps(body))
    except ObjectNotFound:
        return False
    return True


async def create(api: Api, namespace: str, body: JsonObject) -> tuple[JsonObject, bool]:
    """The pod of that name as it is, and whether this call created it."""
    try:
        return await api.create(collection(CORE, "pods", namespace), body), True
    except AlreadyExists:
        return await api.get(pod(namespace, body["metadata"]["name"])), False
