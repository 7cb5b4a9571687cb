"""Gangs for a scheduler that knows only single pods: the whole gang is planned once, and each of its pods is then sent
to the node that was planned for it.

Guarantees: no pod of a gang is let go anywhere before all that have to start together have a place, arranged as the
engine would arrange them, and that room is kept for them (`keeping`) until they are bound. A plan holds as long as it
fits the cluster; then another is made for those that are not bound yet, near those that are. Pods that ask for the same
may change places in a plan, so that whoever is asked about takes a node that is offered to it.
What cannot be promised: bindings are kube-scheduler's to make, one by one. A gang of which some are bound when a node
fails is made whole as well as can be; nobody is taken off its node again.
"""

from collections import Counter
from collections.abc import Callable, Container
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.views.view import View
from dovetail.engine.engine import Engine
from dovetail.engine.gangs.group_trial import GroupTrial, Tried, attempts, only_among, try_parts
from dovetail.engine.state.groups import Group, GroupPart
from dovetail.kubernetes.extender.keeping import Keeping, Kept, kept_for
from dovetail.kubernetes.scheduler.known import Known, Place
from dovetail.kubernetes.scheduler.ledger import Ledger
from dovetail.kubernetes.scheduler.words import incomplete
from dovetail.model.requests.shape import Shape
from dovetail.placement.contract import Request

#: A planned node that was missing so often from what kube-scheduler offered is not planned for that gang again.
STRIKES = 3
_GANGS_REMEMBERED = 1000


class Planned(NamedTuple):
    """The node for one pod, or why there is none, which may be true of its whole gang; `alone`: its gang has started,
    and it may come by itself."""

    node: str = ""
    why: str = ""
    whole_gang: bool = False
    alone: bool = False


#: Told when a plan was made: the gang, and what is planned for whom.
OnPlan = Callable[[Place, list[Kept]], None]


class GangPlans:
    def __init__(
        self, engine: Engine, ledger: Ledger, keeping: Keeping, on_plan: OnPlan, keep_s: float, now: Callable[[], float]
    ) -> None:
        self._state, self._ledger, self._keeping = engine.state, ledger, keeping
        self._on_plan, self._keep_s, self._now = on_plan, keep_s, now
        self._missed: dict[Place, Counter[str]] = {}  # by gang: planned nodes that were not offered

    def node_for(self, known: Known, offered: Container[str]) -> Planned:
        """Where a pod of a gang is to go, of the nodes that are offered to it."""
        gang, meaning = known.gang, known.meaning
        assert gang is not None
        assert meaning is not None
        group = self._state.groups.named(*gang)
        if group is None:
            return Planned(why="its gang is not known yet; asked again, it will be")
        mine = self._keeping.of_gang(gang).get(known.place)
        if mine is None and group.firm >= group.least:
            self._missed.pop(gang, None)
            return Planned(alone=True)
        if mine is None or self.lacks(gang, group) or not self._still_fits(gang, meaning.priority):
            refused = self._plan(gang, group, meaning.priority)
            if refused is not None:
                return refused
            mine = self._keeping.of_gang(gang).get(known.place)
        self._keeping.prolong(gang, self._now() + self._keep_s)
        if mine is None:
            first = len(self._keeping.of_gang(gang))
            return Planned(why=f"{first} others of its gang {gang[1]} start first; it may follow when they have")
        if mine.node not in offered and (mine.binding or not self._change_places(gang, mine, offered)):
            return self._missing(gang, mine.node)
        if gang in self._missed:
            # kube-scheduler offers single nodes now and then, such as the one it chose last, before it offers all.
            del self._missed[gang][mine.node]
        return Planned(mine.node)

    def where(self, known: Known) -> str:
        """The node that is planned for it; empty: none is."""
        kept = None if known.gang is None else self._keeping.of_gang(known.gang).get(known.place)
        return "" if kept is None else kept.node

    def lacks(self, gang: Place, group: Group) -> int:
        """How many pods have to come before it can start; 0 as soon as some of it have."""
        return 0 if self._begun(gang, group) else max(0, group.least - len(self._waiting(gang, group)))

    def tried(self, gang: Place, group: Group, banned: B1 | None = None) -> tuple[list[GroupPart], Tried]:
        """All that wait if there is room for them, else as many as have to start together; on the state as it is."""
        begun, everyone = self._begun(gang, group), self._waiting(gang, group)
        if not everyone:
            return [], Tried()
        parts, tried = everyone, self._try(everyone, begun, banned)
        if tried.refusal is not None and not begun and len(everyone) > group.least:
            parts = everyone[: group.least]
            tried = self._try(parts, begun, banned)
        return parts, tried

    def _begun(self, gang: Place, group: Group) -> bool:
        return bool(group.firm) or any(kept.binding for kept in self._keeping.of_gang(gang).values())

    def _waiting(self, gang: Place, group: Group) -> list[GroupPart]:
        """Those that nobody is binding yet."""
        going = {place for place, kept in self._keeping.of_gang(gang).items() if kept.binding}
        ready = [work for work in group.members.values() if work.is_ready and work.id in self._ledger.by_id]
        return [GroupPart(work, [0]) for work in ready if self._ledger.by_id[work.id].place not in going]

    # --- making a plan ---------------------------------------------------------------------------------------

    def _plan(self, gang: Place, group: Group, priority: int) -> Planned | None:
        """Made and kept: None; or why there is none."""
        self._keeping.drop_plan(gang)
        if self.lacks(gang, group):
            there = len(self._waiting(gang, group))
            return Planned(why=incomplete(gang[1], there, group.least), whole_gang=True)
        with self._keeping.counted(priority, but_gang=gang):
            parts, tried = self.tried(gang, group, self._banned(gang))
            if tried.refusal is not None and gang in self._missed:
                del self._missed[gang]
                parts, tried = self.tried(gang, group)
        if tried.refusal is not None:
            # Some of it run already: as many of the others as find a place are better than none.
            begun = self._begun(gang, group)
            return Planned(alone=True) if begun else Planned(why=tried.refusal.message, whole_gang=True)
        names, now = self._state.cluster.names, self._now()
        made = []
        for part, choices in zip(parts, tried.choices, strict=True):
            row = choices[0].row
            assert row is not None
            known, victim_info = self._ledger.by_id[part.work.id], self._state.victim_info(part.work, now)
            made.append(kept_for(known, names[row], victim_info, now + self._keep_s, gang))
        for kept in made:
            self._keeping.keep(kept)
        self._on_plan(gang, made)
        return None

    def _try(self, parts: list[GroupPart], begun: bool, banned: B1 | None) -> Tried:
        now = self._now()
        tried = try_parts(self._state, _but(attempts(self._state, parts, now), banned), begun=begun)
        if tried.refusal is not None and any(part.work.shape.insists for part in parts):
            eased = _but(attempts(self._state, parts, now, [part.work.shape.least for part in parts]), banned)
            without = try_parts(self._state, eased, begun=begun)
            return without if without.refusal is None else tried
        return tried

    def _banned(self, gang: Place) -> B1 | None:
        rows = self._state.cluster.rows
        found = [rows[name] for name, times in self._missed.get(gang, {}).items() if times >= STRIKES and name in rows]
        if not found:
            return None
        banned = np.zeros(self._state.cluster.width, dtype=np.bool_)
        banned[found] = True
        return banned

    # --- keeping to it ---------------------------------------------------------------------------------------

    def _still_fits(self, gang: Place, priority: int) -> bool:
        """Every node of the plan lets its pods in, and has room for all of them that are to come there."""
        by_shape: dict[Shape, list[Kept]] = {}
        for kept in self._keeping.of_gang(gang).values():
            if not kept.binding:
                by_shape.setdefault(kept.shape, []).append(kept)
        state, cluster = self._state, self._state.cluster
        if any(kept.node not in cluster.rows for each in by_shape.values() for kept in each):
            return False
        taken = np.zeros((cluster.width, len(cluster.resources.names)))
        with self._keeping.counted(priority, but_gang=gang):
            for shape, each in by_shape.items():
                rows = np.array([cluster.rows[kept.node] for kept in each], dtype=np.intp)
                request = state.asked(shape, each[0].identity)
                np.add.at(taken[:, : len(request.column)], rows, request.column)
                if not self._lets_in(request, np.unique(rows)):
                    return False
            used = np.flatnonzero(taken.any(axis=1))
            free = cluster.resources.free[: taken.shape[1], used].T
            return bool(((free >= taken[used]) | (taken[used] <= 0)).all())

    def _lets_in(self, request: Request, rows: Rows) -> bool:
        pipeline = self._state.pipelines[request.shape.profile]
        view = View(self._state.cluster).subset(rows)
        return bool(pipeline.evaluator.run_filters(pipeline.for_task(request, 0, 1), view).alive.all())

    def _change_places(self, gang: Place, mine: Kept, offered: Container[str]) -> bool:
        """With one that asks for the same, waits still, and was planned for a node that is offered."""
        for other in self._keeping.of_gang(gang).values():
            alike = other.shape == mine.shape and other.identity == mine.identity
            if alike and not other.binding and other.node in offered:
                mine.node, other.node = other.node, mine.node
                return True
        return False

    def _missing(self, gang: Place, node: str) -> Planned:
        if len(self._missed) >= _GANGS_REMEMBERED:
            self._missed.clear()
        missed = self._missed.setdefault(gang, Counter())
        missed[node] += 1
        if missed[node] >= STRIKES:
            self._keeping.drop_plan(gang)
        return Planned(why=f"its gang {gang[1]} is planned elsewhere: this pod on {node}, which was not offered")


def _but(parts: list[GroupTrial], banned: B1 | None) -> list[GroupTrial]:
    return parts if banned is None else [_only(part, ~banned) for part in parts]


def _only(part: GroupTrial, among: B1) -> GroupTrial:
    def request() -> Request:
        return only_among(part.request(), among)

    return part._replace(request=request)
