"""The life of reservations: made or refused, their windows begin and end and come again, their nodes leave.

Two ways of keeping room, one for each kind of window. Room that is held now for nobody is taken out of the node
(`Cluster.reserve`): every filter, preemption and the lists of nodes see that it is not there, and nobody pays for it.
All other windows, those to come and those that a tenant may use, are promises (`Promises.reserve`): whether they leave
room depends on who asks and for how long.

A recurring reservation keeps its next two windows as promises, which is enough while it is alone on its nodes: work
that fits beside two of its windows fits beside all. Where reservations share a node it keeps as many as were checked.

Whether there is room is left to `reservation_room`. A node that leaves is replaced where that is possible.
"""

from collections.abc import Iterable
from dataclasses import replace

from dovetail.engine.promises.promises import Promise
from dovetail.engine.reservations.reservation_capacity import CHECKED, find_room
from dovetail.engine.reservations.shortfalls import whose
from dovetail.engine.reservations.windows import Window, as_of, coming
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command
from dovetail.model.event import ReservationMade, ReservationReleased
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation
from dovetail.model.resources import Amounts
from dovetail.model.text.moment import show_time

#: Windows of a recurring reservation that are kept as promises.
KEPT = 2
#: A moment that passed less than this ago is now.
_JUST_NOW_S = 60.0


def check(state: EngineState, id_: int, wanted: Reservation, now: float) -> tuple[ReservationRecord, str]:
    """The reservation as it would be made at this moment, and why it cannot be. Changes nothing."""
    start = wanted.start.after(now)
    last = None if wanted.until is None else wanted.until.after(now)
    record = ReservationRecord(
        id=id_,
        target=wanted.target(),
        holds={},
        start=start,
        end=start + wanted.duration,
        every_s=wanted.every,
        last=last,
        tenant=wanted.tenant,
        holder=wanted.holder,
    )
    if last is not None and last < start:
        return record, f"it would begin for the first time at {show_time(start)}, which is after {show_time(last)}"
    if start < now - _JUST_NOW_S and wanted.every is None:
        return record, f"it would have begun at {show_time(start)}, which is past"
    current = as_of(record, now)
    if current is None:
        return record, f"its last window would have ended before {show_time(now)}"
    found = find_room(state, current, now)
    return replace(current, holds=found.holds), found.problem


def made(state: EngineState, event: ReservationMade, now: float) -> list[Command]:
    if event.id in state.reservations:
        return []
    record, problem = check(state, event.id, event.wanted, now)
    if not problem:
        _put(state, record)
        _widen_neighbours(state, record)
        _look_again(state, record)
    return []


def released(state: EngineState, event: ReservationReleased, now: float) -> list[Command]:  # noqa: ARG001
    if event.id in state.reservations:
        _drop(state, event.id)
    return []


def window_due(state: EngineState, id_: int, now: float) -> list[Command]:
    """A window begins or ends."""
    record = state.reservations.get(id_)
    if record is None:
        return []
    current = as_of(record, now)
    if current is None:
        _drop(state, id_)
        return []
    _put(state, current)
    if current.start != record.start:
        state.wake.dirty_rows.update(_rows(state, record))
    return []


# --- nodes that come and go ----------------------------------------------------------------------------------


def forget_node(state: EngineState, name: str) -> list[int]:
    """A node is about to leave: nothing is held there any more. The reservations that want another."""
    found = []
    for record in [record for record in state.reservations.values() if name in record.holds]:
        holds = {other: amounts for other, amounts in record.holds.items() if other != name}
        if record.target.nodes and not holds:
            _drop(state, record.id)
        else:
            _put(state, replace(record, holds=holds, trouble=_missing(record, name)))
            found.append(record.id)
    return found


def mend(state: EngineState, ids: Iterable[int], now: float) -> None:
    """Hold what is missing elsewhere, as far as there is room; what is still missing is said."""
    for id_ in ids:
        record = state.reservations[id_]
        found = find_room(state, record, now)
        whole_domain = record.target.domain is not None and not record.target.count
        trouble = found.problem or (record.trouble if whole_domain and not found.holds else "")
        if found.holds or trouble != record.trouble:
            mended = replace(record, holds=_together(record.holds, found.holds), trouble=trouble)
            _put(state, mended)
            _widen_neighbours(state, mended)


def node_joined(state: EngineState, now: float) -> None:
    """What was missing may be there now, and a domain has perhaps one node more."""
    wanting = [r.id for r in state.reservations.values() if r.trouble or (r.target.domain and not r.target.count)]
    if wanting:
        mend(state, wanting, now)


def _missing(record: ReservationRecord, name: str) -> str:
    return f"{name} left; {len(record.holds) - 1} of {len(record.holds)} nodes are held"


def _together(holds: dict[str, Amounts], more: dict[str, Amounts]) -> dict[str, Amounts]:
    found = dict(holds)
    for name, amounts in more.items():
        before = found.get(name, {})
        found[name] = {key: before.get(key, 0) + amounts.get(key, 0) for key in before | amounts}
    return found


# --- after a restart -----------------------------------------------------------------------------------------


def restore(state: EngineState, records: list[ReservationRecord]) -> None:
    """As they were: what had begun is held, and their timers see to what has passed since."""
    for record in records:
        holds = {name: amounts for name, amounts in record.holds.items() if name in state.cluster.rows}
        if holds or not record.target.nodes:
            _put(state, replace(record, holds=holds))
    for record in state.reservations.values():
        _promise(state, record)
    _favour(state)
    state.changes.reservations.clear()


# --- keeping the room ----------------------------------------------------------------------------------------


def _put(state: EngineState, record: ReservationRecord) -> None:
    """The reservation is now as the record says."""
    _let_go(state, record.id)
    state.reservations[record.id] = record
    if _is_held(record):
        for name, amounts in record.holds.items():
            state.cluster.reserve(name, amounts)
        state.promises.hold(record.id, _window(state, record, Window(record.start, record.end)))
    _promise(state, record)
    state.timers.set(TimerKind.WINDOW, record.id, record.end if record.begun else record.start)
    state.changes.reservations[record.id] = None


def _promise(state: EngineState, record: ReservationRecord) -> None:
    nodes = record.holds.keys()
    shared = any(nodes & other.holds.keys() for other in state.reservations.values() if other.id != record.id)
    windows = coming(record, CHECKED if shared else KEPT)
    promised = windows[1:] if _is_held(record) else windows
    state.promises.reserve(record.id, tuple(_window(state, record, w) for w in promised) if nodes else ())


def _widen_neighbours(state: EngineState, record: ReservationRecord) -> None:
    """Reservations that shared their nodes with nobody do now."""
    for other in state.reservations.values():
        if other.id != record.id and other.every_s is not None and other.holds.keys() & record.holds.keys():
            _promise(state, other)


def _window(state: EngineState, record: ReservationRecord, window: Window) -> Promise:
    cluster = state.cluster
    rows = tuple((cluster.rows[name], cluster.resources.vector(amounts)) for name, amounts in record.holds.items())
    return Promise(whose(record), window.start, window.end, rows, tenant=record.tenant or "")


def _is_held(record: ReservationRecord) -> bool:
    return record.begun and record.tenant is None


def _let_go(state: EngineState, id_: int) -> None:
    record = state.reservations.get(id_)
    if record is not None and _is_held(record):
        for name, amounts in record.holds.items():
            state.cluster.reserve(name, amounts, -1)
    state.promises.hold(id_, None)


def _drop(state: EngineState, id_: int) -> None:
    _let_go(state, id_)
    record = state.reservations.pop(id_)
    state.promises.reserve(id_, ())
    state.timers.clear(TimerKind.WINDOW, id_)
    state.changes.reservations[id_] = None
    _look_again(state, record)


def _look_again(state: EngineState, record: ReservationRecord) -> None:
    """It is new, or gone: what waits may fit now, and its tenant's work is no longer, or again, like that of others."""
    state.wake.dirty_rows.update(_rows(state, record))
    _favour(state)
    if record.tenant is not None:
        for blocked in state.pending.blocked.values():
            for id_ in [id_ for id_ in blocked if state.work[id_].namespace == record.tenant]:
                state.pending.remove(state.work[id_])
                state.pending.enqueue(state.work[id_])


def _favour(state: EngineState) -> None:
    state.pending.namespaces_with_reservations = {r.tenant for r in state.reservations.values() if r.tenant is not None}


def _rows(state: EngineState, record: ReservationRecord) -> list[int]:
    return [state.cluster.rows[name] for name in record.holds if name in state.cluster.rows]
