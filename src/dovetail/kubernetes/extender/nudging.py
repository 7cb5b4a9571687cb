"""Having kube-scheduler look again at pods that it has put aside.

It looks again at a pod that an extender refused when something changes that it watches; that a gang is complete, or has
been planned, is nothing that it watches. A condition written to the pod is: it says what has
happened, to people too, and the pod is looked at again after its usual pause.
Guarantees: a few are written at a time; one that cannot be written is let go, since kube-scheduler looks at all pods
again every few minutes anyway.
"""

import asyncio
import logging
from datetime import UTC, datetime

from dovetail.kubernetes.client import pods
from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.errors import ApiError, Conflict, NotFound
from dovetail.kubernetes.scheduler.known import Place

_log = logging.getLogger(__name__)

CONDITION = "scheduling.dovetail.dev/LookAgain"
REASON = "OthersCameOrWent"
MAX_WORDS = 1024
LANES = 8


class Nudges:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._due: dict[Place, tuple[str, str]] = {}  # uid and words
        self._any = asyncio.Event()

    def put(self, place: Place, uid: str, words: str) -> None:
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
            except (NotFound, Conflict):
                continue  # it is another pod by now, or none
            except ApiError as error:
                _log.warning("no note was made on pod %s/%s: %s", *place, error)


def _condition(words: str) -> dict[str, str]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {"reason": REASON, "message": words[:MAX_WORDS], "lastTransitionTime": now}
    return {"type": CONDITION, "status": "True", **said}
