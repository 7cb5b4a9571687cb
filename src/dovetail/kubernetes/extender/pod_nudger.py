"""Makes kube-scheduler reconsider pods that it has set aside.

kube-scheduler reconsiders a pod that an extender refused when an object changes that it watches; a complete or planned
gang is no such change. A condition written to the pod is, and it tells people what happened.
Guarantees: only a few conditions are written at a time. A failed write is dropped, since kube-scheduler reconsiders all
pods every few minutes.
"""

import asyncio
import logging
from datetime import UTC, datetime

from dovetail.kubernetes.scheduler.tracked_pod import NamespacedName
from dovetail.kubernetes_client import pods
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectConflict, ObjectNotFound

_log = logging.getLogger(__name__)

CONDITION = "scheduling.dovetail.dev/LookAgain"
REASON = "OthersCameOrWent"
MAX_WORDS = 1024
LANES = 8


class PodNudger:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._due: dict[NamespacedName, tuple[str, str]] = {}  # uid and words
        self._any = asyncio.Event()

    def put(self, place: NamespacedName, uid: str, words: str) -> None:
        self._due[place] = uid, words
        self._any.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(LANES):
                group.create_task(self._write_on(), name="look again")

    async def _write_on(self) -> None:
        while True:
            while not self._due:
                self._any.clear()
                await self._any.wait()
            place = next(iter(self._due))
            uid, words = self._due.pop(place)
            try:
                await pods.patch_status(self._api, *place, {"conditions": [_condition(words)]}, uid)
            except (ObjectNotFound, ObjectConflict):
                continue  # it is another pod by now, or none
            except KubernetesApiError as error:
                _log.warning("no note was made on pod %s/%s: %s", *place, error)


def _condition(words: str) -> dict[str, str]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {"reason": REASON, "message": words[:MAX_WORDS], "lastTransitionTime": now}
    return {"type": CONDITION, "status": "True", **said}
