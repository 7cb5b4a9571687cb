"""The lifecycle of reservations: accept or refuse them, open, close and repeat their windows, replace lost nodes.

Capacity is held in one of two ways. The current window of a reservation without a tenant is taken out of the node
(`Cluster.reserve`), so every filter, preemption and node listing sees it as gone. All other windows, upcoming ones and
those that a tenant may use, are promises (`Promises.reserve`): what they leave depends on who asks and for how long.

A recurring reservation keeps its next two windows as promises. While it is alone on its nodes that is enough: work
that fits beside two windows fits beside all. Where reservations share a node, it keeps as many as were checked.

`reservation_capacity` decides whether there is enough capacity.
"""

from collections.abc import Iterable
from dataclasses import replace

from dovetail.engine.promises.promises import Promise
from dovetail.engine.reservations.reservation_capacity import CHECKED_WINDOWS, find_capacity
from dovetail.engine.reservations.shortfalls import reservation_name
from dovetail.engine.reservations.windows import Window, as_of, upcoming
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command
from dovetail.model.event import ReservationMade, ReservationReleased
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation
from dovetail.model.resources import Amounts
from dovetail.model.text.moment import show_time

#: Windows of a recurring reservation that are kept as promises.
PROMISED_WINDOWS = 2
#: A start that lies less than this in the past counts as now.
_JUST_NOW_S = 60.0


def check(state: EngineState, id_: int, wanted: Reservation, now: float) -> tuple[ReservationRecord, str]:
    """The reservation as it would be made now, and why it cannot be made (empty if it can). Changes nothing."""
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
    found = find_capacity(state, current, now)
    return replace(current, holds=found.holds), found.problem


def made(state: EngineState, event: ReservationMade, now: float) -> list[Command]:
    if event.id in state.reservations:
        return []
    record, problem = check(state, event.id, event.wanted, now)
    if not problem:
        _store(state, record)
        _promise_neighbours(state, record)
        _wake_affected(state, record)
    return []


def released(state: EngineState, event: ReservationReleased, now: float) -> list[Command]:  # noqa: ARG001
    if event.id in state.reservations:
        _delete(state, event.id)
    return []


def window_due(state: EngineState, id_: int, now: float) -> list[Command]:
    """A window begins or ends."""
    record = state.reservations.get(id_)
    if record is None:
        return []
    current = as_of(record, now)
    if current is None:
        _delete(state, id_)
        return []
    _store(state, current)
    if current.start != record.start:
        state.wake.dirty_rows.update(_rows(state, record))
    return []


# --- nodes that join and leave ----------------------------------------------------------------------------------


def forget_node(state: EngineState, name: str) -> list[int]:
    """A node is about to leave: release what is held there. Returns the reservations that need a replacement."""
    found = []
    for record in [record for record in state.reservations.values() if name in record.holds]:
        holds = {other: amounts for other, amounts in record.holds.items() if other != name}
        if record.target.nodes and not holds:
            _delete(state, record.id)
        else:
            trouble = f"{name} left; {len(holds)} of {len(record.holds)} nodes are held"
            _store(state, replace(record, holds=holds, trouble=trouble))
            found.append(record.id)
    return found


def refill(state: EngineState, ids: Iterable[int], now: float) -> None:
    """Hold on other nodes what is missing, as far as possible. The record's `trouble` says what is still missing."""
    for id_ in ids:
        record = state.reservations[id_]
        found = find_capacity(state, record, now)
        whole_domain = record.target.domain is not None and not record.target.count
        trouble = found.problem or (record.trouble if whole_domain and not found.holds else "")
        if found.holds or trouble != record.trouble:
            refilled = replace(record, holds=_merged(record.holds, found.holds), trouble=trouble)
            _store(state, refilled)
            _promise_neighbours(state, refilled)


def node_joined(state: EngineState, now: float) -> None:
    """The new node may provide what was missing, or belong to a reserved domain."""
    wanting = [r.id for r in state.reservations.values() if r.trouble or (r.target.domain and not r.target.count)]
    if wanting:
        refill(state, wanting, now)


def _merged(holds: dict[str, Amounts], more: dict[str, Amounts]) -> dict[str, Amounts]:
    found = dict(holds)
    for name, amounts in more.items():
        before = found.get(name, {})
        found[name] = {key: before.get(key, 0) + amounts.get(key, 0) for key in before | amounts}
    return found


# --- after a restart -----------------------------------------------------------------------------------------


def restore(state: EngineState, records: list[ReservationRecord]) -> None:
    """Hold what was held before the restart. The timers handle windows that have passed since."""
    for record in records:
        holds = {name: amounts for name, amounts in record.holds.items() if name in state.cluster.rows}
        if holds or not record.target.nodes:
            _store(state, replace(record, holds=holds))
    for record in state.reservations.values():
        _promise(state, record)
    _update_namespaces(state)
    state.changes.reservations.clear()


# --- holding capacity ----------------------------------------------------------------------------------------


def _store(state: EngineState, record: ReservationRecord) -> None:
    """Make the record the current state of the reservation."""
    _release_held(state, record.id)
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
    windows = upcoming(record, CHECKED_WINDOWS if shared else PROMISED_WINDOWS)
    promised = windows[1:] if _is_held(record) else windows
    state.promises.reserve(record.id, tuple(_window(state, record, w) for w in promised) if nodes else ())


def _promise_neighbours(state: EngineState, record: ReservationRecord) -> None:
    """Other reservations on these nodes are no longer alone: promise more of their windows."""
    for other in state.reservations.values():
        if other.id != record.id and other.every_s is not None and other.holds.keys() & record.holds.keys():
            _promise(state, other)


def _window(state: EngineState, record: ReservationRecord, window: Window) -> Promise:
    cluster = state.cluster
    rows = tuple((cluster.rows[name], cluster.resources.vector(amounts)) for name, amounts in record.holds.items())
    return Promise(reservation_name(record), window.start, window.end, rows, tenant=record.tenant or "")


def _is_held(record: ReservationRecord) -> bool:
    return record.begun and record.tenant is None


def _release_held(state: EngineState, id_: int) -> None:
    record = state.reservations.get(id_)
    if record is not None and _is_held(record):
        for name, amounts in record.holds.items():
            state.cluster.reserve(name, amounts, -1)
    state.promises.hold(id_, None)


def _delete(state: EngineState, id_: int) -> None:
    _release_held(state, id_)
    record = state.reservations.pop(id_)
    state.promises.reserve(id_, ())
    state.timers.clear(TimerKind.WINDOW, id_)
    state.changes.reservations[id_] = None
    _wake_affected(state, record)


def _wake_affected(state: EngineState, record: ReservationRecord) -> None:
    """The reservation is new or gone: pending work may fit now, and equivalence classes of its tenant change."""
    state.wake.dirty_rows.update(_rows(state, record))
    _update_namespaces(state)
    if record.tenant is not None:
        for blocked in state.pending.blocked.values():
            for id_ in [id_ for id_ in blocked if state.work[id_].namespace == record.tenant]:
                state.pending.remove(state.work[id_])
                state.pending.enqueue(state.work[id_])


def _update_namespaces(state: EngineState) -> None:
    state.pending.namespaces_with_reservations = {r.tenant for r in state.reservations.values() if r.tenant is not None}


def _rows(state: EngineState, record: ReservationRecord) -> list[int]:
    return [state.cluster.rows[name] for name in record.holds if name in state.cluster.rows]
