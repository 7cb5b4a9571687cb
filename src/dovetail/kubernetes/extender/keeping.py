"""Room that is spoken for: on nodes that pods of a gang were planned for, and on those that pods are being bound to.

kube-scheduler counts a pod on its node as soon as it has decided; we hear of it when the binding is asked of us, or by
the watch. What holds here: a pod of a gang counts on its planned node from the moment of the plan, any other pod from
the moment its binding is asked of us, both until the watch shows it bound or gone, or until nobody has asked about it
for a while. The engine is not told of any of this: it is laid over its state in a trial, for one question at a time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dovetail.cluster.placements import VictimInfo
from dovetail.engine.engine import Engine
from dovetail.kubernetes.scheduler.known import Known, Place
from dovetail.kubernetes.scheduler.ledger import Ledger
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId

_FIRST_TRIAL = -1000  # ids below are never real


@dataclass(slots=True)
class Kept:
    """`gang`: of which it is planned, None for a pod by itself. `binding`: its binding was asked for."""

    place: Place
    uid: str
    node: str
    shape: Shape
    identity: TaskIdentity
    victim_info: VictimInfo
    until_s: float
    gang: Place | None = None
    binding: bool = False


class Keeping:
    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._state, self._ledger = engine.state, ledger
        self._kept: dict[Place, Kept] = {}
        self._of_gang: dict[Place, dict[Place, Kept]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, place: Place) -> Kept | None:
        return self._kept.get(place)

    def of_gang(self, gang: Place) -> dict[Place, Kept]:
        return self._of_gang.get(gang, {})

    def keep(self, kept: Kept) -> None:
        self.drop(kept.place)
        self._kept[kept.place] = kept
        if kept.gang is not None:
            self._of_gang.setdefault(kept.gang, {})[kept.place] = kept

    def drop(self, place: Place) -> None:
        kept = self._kept.pop(place, None)
        if kept is not None and kept.gang is not None:
            fellows = self._of_gang[kept.gang]
            del fellows[place]
            if not fellows:
                del self._of_gang[kept.gang]

    def drop_plan(self, gang: Place) -> None:
        """What is being bound goes on counting."""
        for kept in list(self.of_gang(gang).values()):
            if not kept.binding:
                self.drop(kept.place)

    def prolong(self, gang: Place, until_s: float) -> None:
        for kept in self.of_gang(gang).values():
            kept.until_s = until_s

    def settle(self, now: float) -> list[Kept]:
        """Drop what the watch has told of meanwhile, and what nobody came back for: those are returned."""
        lapsed = []
        for place, kept in list(self._kept.items()):
            known = self._ledger.pods.get(place)
            if known is None or known.uid != kept.uid or known.node:
                self.drop(place)
            elif now > kept.until_s:
                self.drop(place)
                lapsed.append(kept)
        return lapsed

    @contextmanager
    def counted(self, priority: int, *, but: Place | None = None, but_gang: Place | None = None) -> Iterator[None]:
        """A trial in which all of it is taken, but for that of one pod, or what is planned of one gang. What is only
        planned, and for pods that are less urgent than this priority, is in nobody's way."""
        state = self._state
        with state.cluster.trial():
            for i, kept in enumerate(self._kept.values()):
                row = state.cluster.rows.get(kept.node)
                own = kept.place == but or (kept.gang is not None and kept.gang == but_gang and not kept.binding)
                if row is None or own or (kept.victim_info.priority < priority and not kept.binding):
                    continue
                column = state.request(kept.shape).column
                # Not there yet, so nobody can have it give way.
                victim_info = kept.victim_info._replace(preemptible=False)
                state.cluster.place(
                    TaskId(_FIRST_TRIAL - i, 0), row, column, victim_info=victim_info, identity=kept.identity
                )
            yield


def kept_for(known: Known, node: str, victim_info: VictimInfo, until_s: float, gang: Place | None = None) -> Kept:
    """Of a pod that the ledger knows, and has read."""
    assert known.meaning is not None
    shape, identity = known.meaning.terms.shape, known.meaning.identity
    return Kept(known.place, known.uid, node, shape, identity, victim_info, until_s, gang)
