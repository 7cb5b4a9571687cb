"""Keeps the timetable of own nodes: at the end of each cycle in which something has happened, it is made anew.

Work stays where it was entered, unless a task ends later than expected; new work is added; what can start at once is
brought forward and queued. For new work that leaves something out a search for a better timetable goes over several
cycles, with as much effort as is left of each. Until it is over nothing new starts by the timetable.
Leaves to others: the timetable itself (`placement.market.timetable`), and which nodes work refuses that is to start
later or not at all (`gangs.requests`).
"""

from collections.abc import Iterable
from math import inf, log

import numpy as np

from dovetail.cluster.horizon import RowProfile
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.requests import is_timetabled, unpromised_request
from dovetail.engine.preemption.elsewhere import choices_of, own_rows
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.own_timetable import OwnTimetable
from dovetail.engine.state.timers import TimerKind
from dovetail.placement.market.elsewhere import likely_cost
from dovetail.placement.market.timetable import Candidate, OwnStart, Timetable
from dovetail.placement.market.timetable_search import TimetableSearch, first_weight

TRIES_EACH = 120
"""Work that is tried in a search for each that is new; a whole round at least."""

MOST_PLACES = 4000
"""Candidates times nodes that are looked at: the timetable is made anew in one go."""


def keep_timetable(state: EngineState, effort: int, now: float) -> int:
    """Returns the effort spent."""
    table, spent = state.timetable, 0
    if table.search is not None:
        if effort <= 0:
            return 0
        spent = table.search.go_on(effort)
        if not table.search.is_over:
            return spent
    elif not table.asked or table.as_of == state.wake.event_count:
        return 0
    _renew(state, now)
    return spent


def _renew(state: EngineState, now: float) -> None:
    table, search = state.timetable, state.timetable.search
    table.search = None
    candidates = table.candidates = _candidates(state, now)
    profiles = _profiles(state, candidates.values(), now)
    made = _kept(table, candidates, profiles, table.starts, now)
    if search is not None:
        found = _kept(table, candidates, profiles, search.best, now)
        if found.value > made.value:
            made = found
            table.weights.update({id_: search.best_weights[id_] for id_ in candidates if id_ in search.best_weights})
    new = [id_ for id_ in candidates if id_ not in table.known]
    if new and len(made.starts) < len(candidates):
        rounds = 1 + min(TRIES_EACH, TRIES_EACH * len(new) // len(candidates))
        among = list(candidates.values())
        table.search = TimetableSearch(now, profiles, among, {id_: table.weights[id_] for id_ in candidates}, rounds)
        table.known.update(dict.fromkeys(new))
        table.starts = made.starts
        return
    table.known.update(dict.fromkeys(new))
    made.bring_forward(candidates.values())
    table.untold.update(dict.fromkeys([id_ for id_ in table.starts if id_ in candidates and id_ not in made.starts]))
    table.starts = made.starts
    _queue(state, now)


def _queue(state: EngineState, now: float) -> None:
    """What starts now, and what has not been told yet whether it does."""
    table = state.timetable
    for id_ in list(table.untold):
        if id_ in state.work:
            state.work[id_].waits = None
            state.pending.enqueue(state.work[id_])
    table.untold.clear()
    later = inf
    for id_, start in table.starts.items():
        if start.at <= now:
            state.pending.enqueue(state.work[id_])
        else:
            later = min(later, start.at)
    if later < inf:
        state.timers.set(TimerKind.PLANNED_START, None, later)
    table.as_of = state.wake.event_count


def _kept(
    table: OwnTimetable,
    candidates: dict[int, Candidate],
    profiles: dict[int, RowProfile],
    starts: dict[int, OwnStart],
    now: float,
) -> Timetable:
    """The timetable with these starts, and with what else there is room for."""
    made = Timetable(now, profiles)
    made.keep(candidates, starts, table.last)
    others = [one for id_, one in candidates.items() if id_ not in made.starts]
    for one in sorted(others, key=lambda one: (one.rank, -table.weights[one.id], one.latest, one.id)):
        made.enter(one)
    return made


def _candidates(state: EngineState, now: float) -> dict[int, Candidate]:
    table, margin_s = state.timetable, state.settings.market.margin
    own = own_rows(state)
    rows_of: dict[object, tuple[int, ...]] = {}
    found: dict[int, Candidate] = {}
    for id_ in list(table.asked):
        work = state.work.get(id_)
        if work is None or not is_timetabled(state, work, now):
            if work is None or not work.waiting:
                table.forget(id_)
            continue
        choices, run_s = choices_of(state, work), state.expected_s(work)
        value = None if run_s is None else likely_cost(choices, run_s, now)
        if value is None or run_s is None:
            table.bar(id_, inf)
            table.untold[id_] = None
            continue
        request, kind = unpromised_request(state, work), work.shape.node_kind
        if kind not in rows_of:
            evaluator = state.pipelines[work.shape.profile].evaluator
            could = evaluator.run_filters(request, View(state.cluster)).feasible_ignoring_capacity
            column, schedulable = request.column, state.cluster.resources.schedulable
            is_large_enough = (schedulable[: len(column), : state.cluster.width] >= column[:, np.newaxis]).all(axis=0)
            rows_of[kind] = tuple((own & could & is_large_enough).nonzero()[0].tolist())
        table.last[id_] = choices[-1].until
        latest = choices[-1].until - margin_s
        one = Candidate(id_, work.rank, request.column, rows_of[kind], run_s, latest, value)
        _weigh(state, table, one)
        found[id_] = one
    return _dearest(table, found)


def _dearest(table: OwnTimetable, candidates: dict[int, Candidate]) -> dict[int, Candidate]:
    """If there are too many to look at, the cheapest of those without a start get none."""
    left = MOST_PLACES
    for one in sorted(candidates.values(), key=lambda one: (one.id not in table.starts, one.rank, -one.value, one.id)):
        left -= len(one.rows)
        if left < 0 and one.id not in table.starts:
            candidates[one.id] = one._replace(rows=())
    return candidates


def _weigh(state: EngineState, table: OwnTimetable, one: Candidate) -> None:
    """New work gets a weight; that of work which has become dearer grows with its price."""
    before = table.values.get(one.id)
    if before is None:
        schedulable = state.cluster.resources.schedulable
        asked = one.column > 0
        shares = [(one.column[asked] / schedulable[: len(one.column), row][asked]).max() for row in one.rows]
        amounts = max(shares, default=1.0)
        table.weights[one.id] = first_weight(one, float(amounts))
        table.untold[one.id] = None
    elif before != one.value:
        table.weights[one.id] += log(max(one.value, 1e-9) / max(before, 1e-9))
    table.values[one.id] = one.value


def _profiles(state: EngineState, candidates: Iterable[Candidate], now: float) -> dict[int, RowProfile]:
    horizon = state.promises.horizon(now)
    rows = sorted({row for one in candidates for row in one.rows})
    return {row: horizon.profile(row) for row in rows}
