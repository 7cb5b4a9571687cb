"""Wakes parked work: enqueues the first workload of every equivalence class for which something changed.

If one workload of a class does not fit, none does. So only the first is tried, and the next when that one was placed. A
quick check of changed rows avoids most tries: whether they are for such work at all, and of the capacity that is free
there; for work that may preempt, of what it could free. Work that depends on more than a node's own row is woken by its
watch (`watches`).
"""

from copy import copy
from dataclasses import replace

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.views.view import View
from dovetail.engine.backfill.backfilling import waits_for_victims, wake_heads
from dovetail.engine.preemption.preempting import PreemptionRights, may_displace
from dovetail.engine.scheduling.watches import rows_to_wake
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.pending_work import EquivalenceClass, QuotaClass
from dovetail.engine.state.work import Work
from dovetail.model.requests.shape import Shape
from dovetail.placement.contract import Request


def wake_parked(state: EngineState) -> None:
    """Enqueue the first workload of every parked class, if a node that changed since may fit it."""
    waiting = state.pending
    if state.wake.queues_freed:
        _wake_over_quota(state)
    if not state.wake.dirty_rows and (not state.wake.watches or state.wake.watched == state.wake.event_count):
        return
    state.wake.watched = state.wake.event_count
    rows, freed = np.array(sorted(state.wake.dirty_rows), dtype=np.intp), state.wake.freed
    state.wake.dirty_rows.clear()
    state.wake.freed = {}
    if not waiting.parked and not state.promises:
        return
    changed = _FreeRows(state, rows)
    running = rows[state.cluster.offers.running[rows]]
    changed_running = changed if len(running) == len(rows) else _FreeRows(state, running)
    clearable = _ClearableRows(state, changed, freed)
    if len(rows):
        elsewhere = _unpromised(state, changed)
        wake_heads(state, set(rows.tolist()), elsewhere.may_fit_one_of if len(elsewhere.rows) else None)
    for class_ in list(waiting.parked):
        watch, free_rows = state.wake.watches.get(class_), changed
        if watch is not None:
            watched = rows_to_wake(state, watch, rows)
            if len(watched) != len(rows):
                free_rows = _FreeRows(state, watched)
        elif class_.waits == state.cluster.offers.kinds_offered:
            free_rows = changed_running
        asked = _asked(state, class_)
        if (len(free_rows.rows) and any(map(free_rows.may_fit, asked))) or clearable.may_fit(class_, asked):
            wake_next(state, class_)
    if len(state.wake.watches) > len(waiting.parked):
        state.wake.watches = {class_: watch for class_, watch in state.wake.watches.items() if class_ in waiting.parked}


def _unpromised(state: EngineState, changed: "_FreeRows") -> "_FreeRows":
    """Without the rows that are being cleared for a preemptor."""
    promises = state.promises
    if not promises:
        return changed
    rows = [
        row
        for row in changed.rows.tolist()
        if not any(promises.of_work[owner].clearing for owner in promises.on_row(row))
    ]
    return changed if len(rows) == len(changed.rows) else _FreeRows(state, np.array(rows, dtype=np.intp))


def _asked(state: EngineState, class_: EquivalenceClass) -> list[Request]:
    """The request of the class; for a group, the requests of all members."""
    first = state.pending.first_in_class(class_) if class_.group >= 0 else None
    group = None if first is None else state.work[first].group
    shapes = (class_.shape,) if group is None else {work.shape: None for work in group.members.values()}
    return [state.request(shape) for shape in shapes]


def wake_next(state: EngineState, class_: EquivalenceClass | QuotaClass) -> None:
    """Enqueue the first workload of a class. The others follow one by one, each when the one before was placed."""
    first = state.pending.first_in_class(class_)
    # A preemptor is woken when its victims are gone.
    if first is not None and not waits_for_victims(state, state.work[first]):
        state.pending.enqueue(state.work[first])


def _wake_over_quota(state: EngineState) -> None:
    """Enqueue the first of every quota class whose top-level queue holds less now."""
    queues = state.router.queues
    trees = {queues[queue].lineage[-2] for queue in state.wake.queues_freed}
    state.wake.queues_freed.clear()
    for class_, first in state.pending.first_over_quota():
        if queues[class_.queue].lineage[-2] in trees:
            state.pending.enqueue(state.work[first])


class _FreeRows:
    """What is free on some rows, for a quick check."""

    def __init__(self, state: EngineState, rows: Rows) -> None:
        self._state = state
        self.rows = rows
        self._free = state.cluster.resources.free[:, rows]
        self._most = self._free.max(axis=1) if len(rows) else None
        self._answers: dict[Shape, bool] = {}

    def with_more(self, more: F8) -> "_FreeRows":
        """The same rows with more free capacity: resource by row."""
        found = copy(self)
        found._free = self._free.copy()
        found._free[: len(more)] += more
        found._most, found._answers = found._free.max(axis=1), {}
        return found

    def may_fit_one_of(self, work: Work) -> bool:
        found = self._answers.get(work.shape)
        if found is None:
            found = self._answers[work.shape] = self.may_fit(self._state.request(work.shape))
        return found

    def may_fit(self, request: Request) -> bool:
        """May the request fit a row? With measured usage only the full evaluation can tell, so the answer is yes."""
        if self._most is None:
            return False
        evaluator = self._state.pipelines[request.shape.profile].evaluator
        if evaluator.resources.by_observation:
            return True
        needs = request.column
        n = len(needs)
        if (self._most[:n] < needs).any():
            return False
        column = needs[:, None]
        roomy = ((self._free[:n] >= column) | (column == 0)).all(axis=0)
        if not roomy.any():
            return False
        least = replace(request, shape=request.shape.least) if request.shape.insists else request
        eligible = evaluator.eligible(least, View(self._state.cluster))
        return eligible is None or bool(eligible[self.rows[roomy]].any())


class _ClearableRows:
    """What work could free on changed rows by preemption. That has grown only where something changed that it could not
    have preempted: a node came back, or a task ended that is protected or as urgent. What else is there was tried when
    the work was parked."""

    def __init__(self, state: EngineState, changed: _FreeRows, freed: dict[int, list[VictimInfo]]) -> None:
        self._state, self._changed, self._freed = state, changed, freed
        self._with_victims: dict[PreemptionRights, _FreeRows | None] = {}

    def may_fit(self, class_: EquivalenceClass, asked: list[Request]) -> bool:
        first = self._state.pending.first_in_class(class_) if len(self._changed.rows) else None
        work = None if first is None else self._state.work[first]
        if work is None or not may_displace(self._state, work.shape, work.rank):
            return False
        rights = PreemptionRights.of(self._state, work)
        if rights not in self._with_victims:
            self._with_victims[rights] = self._cleared(rights)
        cleared = self._with_victims[rights]
        return cleared is not None and any(map(cleared.may_fit, asked))

    def _cleared(self, rights: PreemptionRights) -> _FreeRows | None:
        """The rows with news for it, as if all its victims were gone; None if there is no such row."""
        placements, resources = self._state.cluster.placements, self._state.cluster.resources
        more = np.zeros((len(resources.free), len(self._changed.rows)))
        has_news = False
        for place, row in enumerate(self._changed.rows.tolist()):
            ended = self._freed.get(row, ())
            if ended and all(map(rights.may_evict, ended)):
                continue
            for task in placements.by_row[row]:
                placement = placements.by_task[task]
                if rights.may_evict(placement.victim_info):
                    more[: len(placement.column), place] += placement.column
                    has_news = True
        return self._changed.with_more(more) if has_news else None
