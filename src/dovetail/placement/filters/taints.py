"""The task tolerates every NoSchedule and NoExecute taint of the node."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import TAINTS
from dovetail.cluster.taints import TaintSet
from dovetail.cluster.view import View
from dovetail.model.reason import Refused
from dovetail.model.selection import Effect, Taint, Toleration
from dovetail.model.strict import Strict
from dovetail.placement.contract import NoSettings, Request

REMEMBERED = 1000  # different tolerations


def untolerated(request: Request, taints: tuple[Taint, ...], soft: bool) -> list[Taint]:
    """The taints of one set that the request does not tolerate: PreferNoSchedule if `soft`, else the hard ones."""
    return [
        taint
        for taint in taints
        if (taint.effect is Effect.PREFER_NO_SCHEDULE) is soft
        and not any(toleration.tolerates(taint) for toleration in request.shape.tolerations)
    ]


class UntoleratedSets:
    """bool[set]: which distinct taint sets hold a taint that a request does not tolerate.

    Remembered by tolerations, of which there are few: working it out costs more than a pass over thousands of nodes.
    """

    def __init__(self, soft: bool) -> None:
        self._soft = soft
        self._sets: Sequence[TaintSet] = ()
        self._known: dict[tuple[Toleration, ...], B1] = {}

    def of(self, request: Request, view: View) -> B1:
        sets, tolerations = view.taint_sets, request.shape.tolerations
        if sets is not self._sets or len(self._known) > REMEMBERED:
            self._sets = sets
            self._known.clear()
        found = self._known.get(tolerations)
        if found is None or len(found) != len(sets):  # sets are only ever added
            found = np.array([bool(untolerated(request, taints, self._soft)) for taints in sets], dtype=np.bool_)
            self._known[tolerations] = found
        return found


class Taints:
    name: ClassVar[str] = "taints"
    reason: ClassVar[str] = "untolerated_taint"
    reads: ClassVar[frozenset[str]] = frozenset({TAINTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def __init__(self) -> None:
        self._untolerated = UntoleratedSets(soft=False)

    def mask(self, request: Request, view: View) -> B1 | bool:
        untolerated_sets = self._untolerated.of(request, view)
        return ~untolerated_sets.take(view.taint_codes, mode="clip") if untolerated_sets.any() else True

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        taints = untolerated(request, view.taint_sets[int(view.taint_codes[position])], soft=False)
        return Refused(self.name, self.reason, f"does not tolerate {', '.join(map(str, taints))}")
