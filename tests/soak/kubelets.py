"""Plays the part of all kubelets: a pod that got a node runs, one that is deleted is gone.

What it could not say because the API server was away it says again until it was heard.
"""

import asyncio
from datetime import UTC, datetime

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectConflict, ObjectNotFound
from dovetail.kubernetes_client.paths import PODS
from dovetail.kubernetes_client.pods import delete, patch_status
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector

AGAIN_S = 0.5
AT_ONCE = 8

Told = tuple[str, str, str]  # namespace, name, uid


class Kubelets:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._due: dict[Told, bool] = {}  # True: it is to be gone
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        reflector = Reflector(self._api, PODS, self._hear)
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            for _ in range(AT_ONCE):
                group.create_task(self._work())

    def _hear(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            about = change.object["metadata"]
            told = about["namespace"], about["name"], about["uid"]
            if change.kind is ChangeKind.DELETED:
                self._due.pop(told, None)
            elif "deletionTimestamp" in about:
                self._due[told] = True
            elif change.object["spec"].get("nodeName") and "startTime" not in change.object["status"]:
                self._due.setdefault(told, False)
        if self._due:
            self._changed.set()

    async def _work(self) -> None:
        while True:
            while not self._due:
                self._changed.clear()
                await self._changed.wait()
            told = next(iter(self._due))
            going = self._due.pop(told)
            try:
                await (self._end(told) if going else self._begin(told))
            except (ObjectNotFound, ObjectConflict):
                continue
            except KubernetesApiError:
                self._due.setdefault(told, going)
                await asyncio.sleep(AGAIN_S)

    async def _begin(self, told: Told) -> None:
        namespace, name, uid = told
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        await patch_status(self._api, namespace, name, {"phase": "Running", "startTime": now}, uid)

    async def _end(self, told: Told) -> None:
        namespace, name, uid = told
        await delete(self._api, namespace, name, grace_s=0, uid=uid)
