"""Pods that we refused because of other pods, to be reconsidered when those have come or left: kube-scheduler watches
nothing that would tell it.

A condition written to such a pod makes kube-scheduler reconsider it, and tells people what happened.
Guarantees: a pod is nudged once for each such change. A reason that holds for a whole gang reaches all its pods, though
kube-scheduler does not ask about the earlier ones again. Only a few conditions are written at a time. A failed write is
dropped, since kube-scheduler reconsiders all pods every few minutes.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from dovetail.kubernetes.extender.held_pods import HeldPod
from dovetail.kubernetes.scheduler.pod_conditions import condition
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes_client import pods
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectConflict, ObjectNotFound
from dovetail.kubernetes_client.objects import NamespacedName

_log = logging.getLogger(__name__)

CONDITION = "scheduling.dovetail.dev/LookAgain"
REASON = "OthersCameOrWent"
CHANGED = "the cluster has changed since it was refused"
LANES = 8
_REMEMBERED = 20_000
#: The pod, its uid, and what has happened.
Nudge = Callable[[NamespacedName, str, str], None]


class PodNudger:
    """Writes the conditions."""

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
                conditions = [condition(CONDITION, "True", REASON, words)]
                await pods.patch_status(self._api, *place, {"conditions": conditions}, uid)
            except (ObjectNotFound, ObjectConflict):
                continue  # the pod is gone or was replaced
            except KubernetesApiError as error:
                _log.warning("no condition was written to pod %s/%s: %s", *place, error)


class _Refused(NamedTuple):
    uid: str
    words: str


class _OfGang(NamedTuple):
    """The latest reason that holds for all pods of a gang."""

    words: str
    settled: bool = False


class RefusedPods:
    def __init__(self, tracker: PodTracker, nudge: Nudge) -> None:
        self._tracker, self._nudge = tracker, nudge
        self._refused: dict[NamespacedName, _Refused] = {}
        self._gangs: dict[NamespacedName, _OfGang] = {}

    def refused(self, place: NamespacedName, uid: str, words: str) -> None:
        if len(self._refused) >= _REMEMBERED:
            self._refused = {place: one for place, one in self._refused.items() if self._waits(place, one.uid)}
        self._refused[place] = _Refused(uid, words)

    def gang_refused(self, gang: NamespacedName, words: str) -> None:
        """The reason holds for all pods of the gang."""
        self._gangs[gang] = _OfGang(words)

    def accepted(self, place: NamespacedName) -> None:
        self._refused.pop(place, None)

    def capacity_freed(self) -> None:
        self._tell(list(self._refused), "capacity that was held for others is free again")

    def passes_now(self, place: NamespacedName, uid: str) -> None:
        self._refused.pop(place, None)
        if self._waits(place, uid):
            self._nudge(place, uid, CHANGED)

    def gang_passes_now(self, gang: NamespacedName) -> None:
        self._tell([known.place for known in self._tracker.gang(gang)], CHANGED)

    def planned(self, gang: NamespacedName, made: list[HeldPod]) -> None:
        self._gangs.pop(gang, None)
        words = f"planned together with {len(made) - 1} others of its gang {gang[1]}"
        self._tell([kept.place for kept in made], words)

    def renew(self) -> None:
        """Called regularly: tells the pods of a gang its latest reason once it has been stable for a while."""
        settled = {gang: one.words for gang, one in self._gangs.items() if one.settled}
        self._gangs = {gang: _OfGang(one.words, settled=True) for gang, one in self._gangs.items() if not one.settled}
        for gang, words in settled.items():
            fellows = [known.place for known in self._tracker.gang(gang)]
            unlike = [place for place in fellows if place in self._refused and self._refused[place].words != words]
            self._tell(unlike, words)

    def _tell(self, places: Iterable[NamespacedName], words: str) -> None:
        for place in places:
            one = self._refused.pop(place, None)
            if one is not None and self._waits(place, one.uid):
                self._nudge(place, one.uid, words)

    def _waits(self, place: NamespacedName, uid: str) -> bool:
        known = self._tracker.pods.get(place)
        return known is not None and known.uid == uid and not known.node
