"""Plays the parts of a volume controller and of a provisioner: what a scheduler asks for claims comes about."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector

Json = dict[str, Any]

VOLUMES, CLAIMS = "/api/v1/persistentvolumes", "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
HOST = "kubernetes.io/hostname"
SELECTED, COMPLETED = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"


class VolumeController:
    """`refusals`: so often it gives up to make a volume, and says so by taking the node's name off the claim."""

    def __init__(self, api: Api, refusals: int = 0) -> None:
        self._api, self.refusals = api, refusals
        self.made = 0

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:

            def each(changes: list[ObjectChange], act: Callable[[Json], Coroutine[Any, Any, None]]) -> None:
                for change in changes:
                    if change.kind is not ChangeKind.DELETED:
                        group.create_task(act(change.object))

            group.create_task(Reflector(self._api, VOLUMES, lambda changes: each(changes, self._volume)).run())
            group.create_task(Reflector(self._api, CLAIMS, lambda changes: each(changes, self._claim)).run())

    async def _volume(self, volume: Json) -> None:
        """One that was given to a claim is the claim's."""
        kept = volume["spec"].get("claimRef") or {}
        if not kept.get("uid") or volume["status"].get("phase") == "Bound":
            return
        name = volume["metadata"]["name"]
        with suppress(ObjectNotFound):
            about = {"annotations": {COMPLETED: "yes"}}
            await self._api.patch(f"{CLAIMS}/{kept['name']}", {"metadata": about, "spec": {"volumeName": name}})
            await self._api.patch(f"{CLAIMS}/{kept['name']}/status", {"status": {"phase": "Bound"}})
            await self._api.patch(f"{VOLUMES}/{name}/status", {"status": {"phase": "Bound"}})

    async def _claim(self, claim: Json) -> None:
        """One that names a node gets a volume there."""
        about = claim["metadata"]
        node = (about.get("annotations") or {}).get(SELECTED)
        if not node or claim["spec"].get("volumeName"):
            return
        if self.refusals:
            self.refusals -= 1
            await self._api.patch(f"{CLAIMS}/{about['name']}", {"metadata": {"annotations": {SELECTED: None}}})
            return
        self.made += 1
        made = volume(f"made-for-{about['name']}", node, claim["spec"]["storageClassName"])
        made["spec"]["claimRef"] = {"namespace": "default", "name": about["name"], "uid": about["uid"]}
        with suppress(KubernetesApiError):  # it is there already
            await self._api.create(VOLUMES, made)


def volume(name: str, node: str, kind: str) -> Json:
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": kind,
        "nfs": {"server": "s", "path": "/"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return {"metadata": {"name": name}, "spec": spec}


def claim(name: str, kind: str) -> Json:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, "storageClassName": kind}
    return {"metadata": {"name": name}, "spec": asked}


@asynccontextmanager
async def controlled(api: Api, refusals: int = 0) -> AsyncIterator[VolumeController]:
    found = VolumeController(api, refusals)
    running = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def free_volumes(api: Api) -> None:
    """Claims and volumes go, though nobody is there who would let go of them."""
    for path in (CLAIMS, VOLUMES):
        for one in await api.items(path):
            where = f"{path}/{one['metadata']['name']}"
            with suppress(ObjectNotFound):
                await api.patch(where, {"metadata": {"finalizers": None}})
                await api.delete(where)
