"""What a preemption would change in the timetable of own nodes: the work that has a start there is to keep it."""

from collections.abc import Iterable

from dovetail.engine.gangs.requests import unpromised_request
from dovetail.engine.preemption.elsewhere import LeavingTask, WaitingWork
from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.market.timetable import Candidate, OwnStart, Timetable


def lost_by_taking(state: EngineState, one: WaitingWork, row: int, victims: Iterable[LeavingTask], now: float) -> float:
    """What work with a start would cost elsewhere that could no longer start, if this took the row from its victims."""
    if not state.timetable.starts:
        return 0.0
    made, before = _without(state, row, victims, now), _value(state)
    made.put(_candidate(state, one, row, now), OwnStart(row, now))
    _keep(state, made)
    return before - (made.value - one.cost)


def fits_if_it_leaves(state: EngineState, subject: LeavingTask, other: WaitingWork, now: float) -> bool:
    """Could the other start on this row in time, beside all that has a start already?"""
    if not state.timetable.starts:
        return True
    made = _without(state, subject.row, [subject], now)
    _keep(state, made)
    return made.value >= _value(state) * 0.999 and made.enter(_candidate(state, other, subject.row, now))


def _without(state: EngineState, row: int, leaving: Iterable[LeavingTask], now: float) -> Timetable:
    horizon = state.promises.horizon(now)
    rows = {row, *[row for one in state.timetable.candidates.values() for row in one.rows]}
    profiles = {row: horizon.profile(row) for row in sorted(rows)}
    for one in leaving:
        end = state.ends.at(one.task)
        profiles[row] = profiles[row].with_changes([(now, one.column), *([] if end is None else [(end, -one.column)])])
    return Timetable(now, profiles)


def _keep(state: EngineState, made: Timetable) -> None:
    table = state.timetable
    made.keep(table.candidates, table.starts, table.last)
    for id_ in table.starts:
        if id_ in table.candidates and id_ not in made.starts:
            made.enter(table.candidates[id_])


def _value(state: EngineState) -> float:
    table = state.timetable
    return sum([table.candidates[id_].value for id_ in table.starts if id_ in table.candidates])


def _candidate(state: EngineState, one: WaitingWork, row: int, now: float) -> Candidate:
    run_s = state.expected_s(one.work) or 0.0
    column = unpromised_request(state, one.work).column
    until = max(now, one.until - state.settings.market.margin)
    return Candidate(one.work.id, one.work.rank, column, (row,), run_s, until, one.cost)
