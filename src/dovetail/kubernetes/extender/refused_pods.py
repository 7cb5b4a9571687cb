"""Pods that we refused because of other pods, to be reconsidered when those have come or left: kube-scheduler watches
nothing that would tell it.

Guarantees: a pod is nudged once for each such change. A reason that holds for a whole gang reaches all its pods, though
kube-scheduler does not ask about the earlier ones again.
Left to others: how pods are nudged (`pod_nudger`).
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dovetail.kubernetes.extender.held_pods import HeldPod
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.tracked_pod import NamespacedName

_REMEMBERED = 20_000
#: The pod, its uid, and what has happened.
Nudge = Callable[[NamespacedName, str, str], None]


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

    def room_is_free(self) -> None:
        self._tell(list(self._refused), "room that was kept for others is free again")

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
