"""Pods that kube-scheduler has put aside because we refused them for the sake of others: to be looked at again when
those have come, or have made room, which nothing that kube-scheduler watches would tell it.

Guarantees: a pod is told of each such thing once. What all pods of a gang wait for is known to all of them before long:
the first were told how few they are, and kube-scheduler does not ask about them again by itself.
Left to others: how they are told (`nudging`).
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dovetail.kubernetes.extender.keeping import Kept
from dovetail.kubernetes.scheduler.known import Place
from dovetail.kubernetes.scheduler.ledger import Ledger

_REMEMBERED = 20_000
#: The pod, its uid, and what has happened.
Nudge = Callable[[Place, str, str], None]


class _Refused(NamedTuple):
    uid: str
    words: str


class _OfGang(NamedTuple):
    """What the pod of a gang that was asked about last was told, where that is true of all of them."""

    words: str
    settled: bool = False


class PutAside:
    def __init__(self, ledger: Ledger, nudge: Nudge) -> None:
        self._ledger, self._nudge = ledger, nudge
        self._refused: dict[Place, _Refused] = {}
        self._gangs: dict[Place, _OfGang] = {}

    def refused(self, place: Place, uid: str, words: str) -> None:
        if len(self._refused) >= _REMEMBERED:
            self._refused = {place: one for place, one in self._refused.items() if self._waits(place, one.uid)}
        self._refused[place] = _Refused(uid, words)

    def gang_refused(self, gang: Place, words: str) -> None:
        """True of all its pods."""
        self._gangs[gang] = _OfGang(words)

    def release_spares(self, place: Place) -> None:
        self._refused.pop(place, None)

    def room_is_free(self) -> None:
        self._tell(list(self._refused), "room that was kept for others is free again")

    def planned(self, gang: Place, made: list[Kept]) -> None:
        self._gangs.pop(gang, None)
        words = f"planned together with {len(made) - 1} others of its gang {gang[1]}"
        self._tell([kept.place for kept in made], words)

    def renew(self) -> None:
        """Call it now and then: pods of gangs about which nothing new was said since get to know what was."""
        settled = {gang: one.words for gang, one in self._gangs.items() if one.settled}
        self._gangs = {gang: _OfGang(one.words, settled=True) for gang, one in self._gangs.items() if not one.settled}
        for gang, words in settled.items():
            fellows = [known.place for known in self._ledger.gang(gang)]
            unlike = [place for place in fellows if place in self._refused and self._refused[place].words != words]
            self._tell(unlike, words)

    def _tell(self, places: Iterable[Place], words: str) -> None:
        for place in places:
            one = self._refused.pop(place, None)
            if one is not None and self._waits(place, one.uid):
                self._nudge(place, one.uid, words)

    def _waits(self, place: Place, uid: str) -> bool:
        known = self._ledger.pods.get(place)
        return known is not None and known.uid == uid and not known.node
