"""Finds capacity for a reservation, or says which node lacks what, when, and who uses it.

Assumptions: running tasks end as expected (`state.ends`; tasks without an expected end run for ever), overlapping
windows of other reservations are kept, and capacity being cleared for a preemptor stays its own. Promises to queue
heads do not count: those are made again later. The tenant's own tasks on a node count as use of its reservation.

This module changes nothing; `reservations` does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER, RowProfile
from dovetail.engine.promises.promises import held_capacity
from dovetail.engine.reservations.shortfalls import Shortfall, describe_shortfall
from dovetail.engine.reservations.windows import Window, overlapping, upcoming
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.record import ReservationRecord
from dovetail.model.resources import SLOTS, Amounts
from dovetail.model.text.listing import first_of
from dovetail.model.workloads.selection import Effect

#: A recurring reservation is accepted if this many of its windows fit.
CHECKED_WINDOWS = 8


@dataclass(frozen=True, slots=True)
class FoundCapacity:
    """Capacity for what a reservation still lacks. `problem` says why it is not all of it."""

    holds: dict[str, Amounts]
    problem: str = ""


def find_capacity(state: EngineState, record: ReservationRecord, now: float) -> FoundCapacity:
    """Look for what the reservation asks for and does not hold yet."""
    state.cluster.resources.vector(record.target.amounts or {})  # adds its resources to the tables
    outlook = ReservationOutlook(state, record, now)
    if record.target.count:
        return _hold_by_shape(state, record, outlook)
    names, problem = _named_nodes(state, record)
    holds: dict[str, Amounts] = {}
    for name in names:
        amounts, word = _hold_on_node(state, record, outlook, name)
        if word:
            problem = problem or word
        else:
            holds[name] = amounts
    return FoundCapacity(holds, problem)


class ReservationOutlook:
    """What nodes have free in all upcoming windows of one reservation."""

    def __init__(self, state: EngineState, record: ReservationRecord, now: float) -> None:
        self.windows = upcoming(record, CHECKED_WINDOWS)
        self.now = now
        self._state = state
        self._tenant = record.tenant
        self._horizon = state.promises.without_promises(now)
        self._others = self._by_row()
        self._subtracted: set[int] = set()

    def left(self, row: int) -> F8:
        """float64[resource]: what is free throughout all windows."""
        profile = self.profile(row)
        found: F8 = np.min([profile.room(*window) for window in self.windows], axis=0)
        return found

    def profile(self, row: int) -> RowProfile:
        found = self._horizon.profile(row)
        if row not in self._subtracted:
            self._subtracted.add(row)
            self._subtract(row, found)
        return found

    def shortfall(self, row: int, column: F8) -> Shortfall | None:
        """The first moment at which the row has too little."""
        profile = self.profile(row)
        n = len(column)
        for window in self.windows:
            for at, free in self._steps(profile, window):
                short = np.flatnonzero((free[:n] < column) & (column > 0))
                if len(short):
                    i = int(short[0])
                    return Shortfall(row, i, float(column[i]), float(free[i]), at)
        return None

    def free_at_start(self) -> F8:
        """float64[resource, node]: what is free when the first window begins, ignoring other reservations."""
        start = max(self.windows[0].start, self.now)
        found = self._state.promises.free_with_held().copy()
        for release in self._state.ends:
            if release.at > start:
                break
            if release.at > self.now:
                found[: len(release.column), release.row] += release.column
        return found

    def _steps(self, profile: RowProfile, window: Window) -> Iterator[tuple[float, F8]]:
        first = max(0, int(profile.times.searchsorted(window.start, side="right")) - 1)
        last = max(first + 1, int(profile.times.searchsorted(window.end, side="left")))
        for i in range(first, last):
            yield max(float(profile.times[i]), window.start), profile.free[i]

    def _by_row(self) -> dict[int, dict[str | None, list[tuple[float, float, F8]]]]:
        """Overlapping windows of other reservations, by row and tenant."""
        state = self._state
        found: dict[int, dict[str | None, list[tuple[float, float, F8]]]] = {}
        for other in state.reservations.values():
            touching = sorted({window for mine in self.windows for window in overlapping(other, mine)})
            for name, amounts in other.holds.items() if touching else ():
                row, column = state.cluster.rows[name], state.cluster.resources.vector(amounts)
                held = found.setdefault(row, {}).setdefault(other.tenant, [])
                held += [(window.start, window.end, column) for window in touching]
        return found

    def _subtract(self, row: int, profile: RowProfile) -> None:
        state, now = self._state, self.now
        for task in state.cluster.placements.by_row[row]:
            end = state.ends.at(task)
            if end is not None and end <= now:  # overdue: its end is unknown
                profile.occupy(now, NEVER, state.cluster.placements.by_task[task].column)
        for promise in state.promises.of_work.values():
            if promise.clearing:
                for promised, column in promise.rows:
                    if promised == row:
                        profile.occupy(now, promise.end, column)
        for tenant, held in self._others.get(row, {}).items():
            is_own = tenant is not None and tenant == self._tenant
            running = state.promises.running_tasks(tenant or "", row)
            for start, end, column in held if is_own else held_capacity(held, running, now):
                profile.occupy(max(start, now), end, column)
        for end, column in state.promises.running_tasks(self._tenant or "", row):
            profile.occupy(now, NEVER if end <= now else end, -column)  # the tenant's own task uses its reservation


# --- named nodes and domains ---------------------------------------------------------------------------------


def _named_nodes(state: EngineState, record: ReservationRecord) -> tuple[list[str], str]:
    """The requested nodes that are not held yet, and what is wrong with the request."""
    target, cluster = record.target, state.cluster
    if target.domain is None:
        missing = [name for name in target.nodes if name not in cluster.rows]
        here = [name for name in target.nodes if name in cluster.rows and name not in record.holds]
        return here, f"there is no node {missing[0]!r}" if missing else ""
    names = [cluster.names[row] for row in rows_with(state, (target.domain,))]
    if not names and not record.holds:
        return [], _no_such_domain(state, *target.domain)
    return [name for name in names if name not in record.holds], ""


def _hold_on_node(
    state: EngineState, record: ReservationRecord, outlook: ReservationOutlook, name: str
) -> tuple[Amounts, str]:
    """What to hold on the node, or why that is impossible."""
    cluster = state.cluster
    row = cluster.rows[name]
    if not cluster.status.online[row]:
        reason = cluster.status.offline_reasons.get(name, "")
        return {}, f"node {name!r} is offline{': ' + reason if reason else ''}"
    amounts = record.target.amounts
    if amounts is None:
        amounts = cluster.resources.amounts(cluster.resources.schedulable[:, row])
    short = outlook.shortfall(row, cluster.resources.vector(amounts))
    return amounts, describe_shortfall(state, record, short, outlook.windows) if short is not None else ""


def _no_such_domain(state: EngineState, level: str, value: str) -> str:
    column = state.cluster.labels.columns.get(level)
    known = sorted({v for row in state.cluster.rows.values() if column and (v := column.value(row)) is not None})
    if not known:
        return f"no node has a label {level!r}"
    return f"no node has {level}={value}; {level} is one of {first_of(known)}"


def rows_with(state: EngineState, labels: Iterable[tuple[str, str]]) -> list[int]:
    """Rows of the nodes that have all these labels."""
    columns = [(state.cluster.labels.columns.get(key), value) for key, value in labels]
    return [
        row
        for row in sorted(state.cluster.rows.values())
        if all(column is not None and column.value(row) == value for column, value in columns)
    ]


# --- by shape ------------------------------------------------------------------------------------------------


def _hold_by_shape(state: EngineState, record: ReservationRecord, outlook: ReservationOutlook) -> FoundCapacity:
    """Fill the nodes with the most free capacity first, so that few nodes are used."""
    target, cluster = record.target, state.cluster
    assert target.amounts is not None
    wanted = target.count - sum(amounts[SLOTS] for amounts in record.holds.values())
    column = cluster.resources.vector(target.amounts)
    needed = np.flatnonzero(column)
    rows = _candidates(state, record)
    most = _copies(outlook.free_at_start()[needed][:, rows].T, column[needed])
    order = np.argsort(-most, kind="stable")
    holds: dict[str, Amounts] = {}
    found, first_short = 0, None
    for i in order.tolist():
        if found == wanted or (first_short is not None and most[i] <= 0):
            break
        row = rows[i]
        copies = min(int(most[i]), int(_copies(outlook.left(row)[needed], column[needed])), wanted - found)
        if copies > 0:
            found += copies
            holds[cluster.names[row]] = {name: amount * copies for name, amount in target.amounts.items()}
        if copies < most[i] or most[i] <= 0:
            first_short = first_short or outlook.shortfall(row, column * (copies + 1))
    if found == wanted:
        return FoundCapacity(holds)
    words = f"{target.count} tasks are wanted and there is capacity for {found + target.count - wanted}"
    if not rows:
        words += ": no node that takes work matches"
    elif first_short is not None:
        words += f"; {describe_shortfall(state, record, first_short, outlook.windows)}"
    return FoundCapacity(holds, words)


def _candidates(state: EngineState, record: ReservationRecord) -> list[int]:
    """Nodes that accept work. Tainted nodes only if the user selected nodes by a label."""
    target, cluster = record.target, state.cluster
    labels = (*target.selector, *((target.domain,) if target.domain is not None else ()))
    return [
        row
        for row in rows_with(state, labels)
        if cluster.status.ready[row]
        and (labels or all(taint.effect is Effect.PREFER_NO_SCHEDULE for taint in cluster.taints.row(row)))
    ]


def _copies(free: F8, amounts: F8) -> F8:
    """How many times the amounts fit, over the last axis."""
    found: F8 = np.floor(np.maximum(free, 0.0) / amounts).min(axis=-1)
    return found
