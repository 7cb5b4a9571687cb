"""Who was promised which room when: heads of queues, preemptors that wait for their victims, advance reservations.

A promise is kept by asking, of every other task, whether it leaves the promised room free for as long as it would
run. The horizon (room over time on rows with promises) is built when it is first needed and thrown away as soon as
anything else changed.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER, Horizon
from dovetail.cluster.state import Cluster
from dovetail.engine.promises.expected_ends import ExpectedEnds
from dovetail.engine.promises.held_capacity import kept_room
from dovetail.engine.promises.nominated_tasks import NominatedTasks
from dovetail.engine.promises.promised_rows import PromisedRows
from dovetail.placement.contract import PromisedRoom

_NO_ROOM = -1.0


@dataclass(frozen=True, slots=True)
class Promise:
    """Room on rows (`float64[resource]` each) from start to end. `spare` False: nobody may use any of the row beyond
    the start, as in the textbook form of backfilling."""

    whose: str
    start: float
    end: float
    rows: tuple[tuple[int, F8], ...]
    spare: bool = True
    clearing: bool = False  # victims are being stopped for it
    as_of: int = -1  # the count of news when it was made
    tenant: str | None = None  # an advance reservation: work of this namespace may use it; empty: nobody's

    def same_as(self, other: "Promise | None") -> bool:
        return (
            other is not None
            and (self.start, self.end, self.spare) == (other.start, other.end, other.spare)
            and [row for row, _ in self.rows] == [row for row, _ in other.rows]
        )


class Promises:
    def __init__(self, cluster: Cluster, ends: ExpectedEnds) -> None:
        self._cluster = cluster
        self._ends = ends
        self.of_work: dict[int, Promise] = {}
        self.reserved: dict[int, tuple[Promise, ...]] = {}  # by reservation: its coming windows
        self.held: dict[int, Promise] = {}  # by reservation for nobody: the window that is now, taken out of `free`
        self._rows_of_tenants: set[int] = set()  # on which reservations are that some namespace may use
        self.nominated_tasks = NominatedTasks()
        self._by_row = PromisedRows()
        self._starts: Counter[float] = Counter()  # of promises to work
        self._jealous = 0  # promises to work beyond whose start nobody may use the row
        self.not_clearing: dict[int, None] = {}  # whose promises are for later, not for when victims are gone
        self._horizon: Horizon | None = None
        self._stamp: tuple[float, int] = (0.0, -1)

    def __bool__(self) -> bool:
        return bool(self.of_work or self.reserved)

    def make(self, work: int, promise: Promise) -> None:
        if work in self.of_work:
            self._take_back(work, self.of_work[work])
        self.of_work[work] = promise
        self._by_row.add(work, promise.whose, promise.rows)
        self._starts[promise.start] += 1
        self._jealous += not promise.spare
        if not promise.clearing:
            self.not_clearing[work] = None
        self.nominated_tasks.stir(work)
        self._horizon = None

    def withdraw(self, work: int) -> Promise | None:
        found = self.of_work.pop(work, None)
        if found is not None:
            self._take_back(work, found)
            self._horizon = None
        return found

    def _take_back(self, work: int, promise: Promise) -> None:
        self._by_row.remove(work)
        self._starts[promise.start] -= 1
        if not self._starts[promise.start]:
            del self._starts[promise.start]
        self._jealous -= not promise.spare
        self.not_clearing.pop(work, None)
        self.nominated_tasks.stir(work)

    def on_row(self, row: int) -> Collection[int]:
        """Work that was promised room there."""
        return self._by_row.owners(row)

    def reserve(self, reservation: int, windows: tuple[Promise, ...]) -> None:
        if windows:
            self.reserved[reservation] = windows
        else:
            self.reserved.pop(reservation, None)
        tenants = (w for ws in self.reserved.values() for w in ws if w.tenant)
        self._rows_of_tenants = {row for window in tenants for row, _ in window.rows}
        self._horizon = None

    def hold(self, reservation: int, window: Promise | None) -> None:
        """The cluster holds this room back now, until the window ends; None: no longer."""
        if window is not None:
            self.held[reservation] = window
        else:
            self.held.pop(reservation, None)
        self._horizon = None

    def rows_reserved(self, namespace: str, start: float, end: float) -> set[int]:
        """Rows on which others than this namespace have a reservation at some time from start to end."""
        windows = (w for ws in self.reserved.values() for w in ws if w.tenant != namespace)
        return {row for w in windows if w.start < end and start < w.end for row, _ in w.rows}

    def against(
        self, work: int, namespace: str, run_s: float | None, now: float, fellows: Collection[int] = ()
    ) -> PromisedRoom | None:
        """What promises to others leave of their rows for a task that starts now; None: there are none. What fellows
        were promised it may use: they start together."""
        owners = (work, *fellows)
        if not self.reserved and not self.held and not self._jealous and self._begun(now):
            # Where all of them hold from now on there is never less room than now: what runs ends, and so do they.
            return self._by_row.left(self._cluster.resources.free, owners)
        mine = self._without(owners, namespace)
        promises = list(self._all(owners, namespace))
        if not promises:
            return None
        horizon = self._but_for(now, owners, namespace) if mine else self._shared(now)
        end = NEVER if run_s is None else now + run_s
        whose: dict[int, str] = {}
        closed: set[int] = set()
        for promise in promises:
            for row, _ in promise.rows:
                whose.setdefault(row, promise.whose)
                if not promise.spare and end >= promise.start:
                    closed.add(row)
        rows = sorted(whose)
        room = np.array([horizon.profile(row).room(now, end) for row in rows]).T
        if closed:
            room[:, [row in closed for row in rows]] = _NO_ROOM
        return PromisedRoom(np.array(rows, dtype=np.intp), room, tuple(whose[row] for row in rows))

    def _begun(self, now: float) -> bool:
        """Do all promises to work hold from now on?"""
        return not self._starts or max(self._starts) <= now

    def placed(self, row: int, column: F8, end: float, now: float, changes_before: int) -> None:
        """A task was placed: the horizon is mended instead of built anew."""
        if self._horizon is not None and self._stamp == (now, changes_before):
            if row in self._rows_of_tenants:
                self._horizon = None  # it may be the tenant's, and then less is kept for the tenant
                return
            if row in self._horizon.profiles:
                self._horizon.occupy(row, now, end, column)
            self._stamp = (now, self._cluster.changes)

    def forget_horizon(self) -> None:
        self._horizon = None

    def horizon(self, now: float, work: int = -1, namespace: str = "") -> Horizon:
        """Room over time with every promise kept but those to this work."""
        return self._but_for(now, (work,), namespace)

    def _but_for(self, now: float, owners: Collection[int], namespace: str) -> Horizon:
        found = self.bare(now)
        for promise in self._all(owners, namespace):
            if promise.tenant is None:
                self._keep(promise, found, now)
        self._keep_held(found, now)
        self.keep_reservations(found, now, namespace)
        return found

    def bare(self, now: float) -> Horizon:
        """Room over time if nothing were promised: what runs ends, and what is held for nobody is free."""
        return Horizon(self.unheld(), now, self._ends, self._ends.on_row)

    def unheld(self) -> F8:
        """float64[resource, node]: what is free now, with what is held for nobody."""
        free = self._cluster.resources.free[:, : self._cluster.width]
        if self.held:
            free = free.copy()
            for window in self.held.values():
                for row, column in window.rows:
                    free[: len(column), row] += column
        return free

    def keep_reservations(self, horizon: Horizon, now: float, namespace: str = "") -> None:
        """Take advance reservations, but those of this namespace, out of a horizon of another's making."""
        by_row: dict[tuple[str, int], list[tuple[float, float, F8]]] = {}
        for windows in self.reserved.values():
            for window in windows:
                if window.tenant is not None and (not namespace or window.tenant != namespace):
                    for row, column in window.rows:
                        by_row.setdefault((window.tenant, row), []).append((window.start, window.end, column))
        for (tenant, row), held in by_row.items():
            for start, end, column in kept_room(held, self.runs(tenant, row), now):
                horizon.occupy(row, start, end, column)

    def _keep_held(self, horizon: Horizon, now: float) -> None:
        for window in self.held.values():
            self._keep(window, horizon, now)

    def _keep(self, promise: Promise, horizon: Horizon, now: float) -> None:
        # Who waits for victims to go begins now at the earliest, however long they take.
        end = promise.end + max(0.0, now - promise.start) if promise.clearing else promise.end
        for row, column in promise.rows:
            horizon.occupy(row, max(promise.start, now), end, column)

    def runs(self, namespace: str, row: int) -> list[tuple[float, F8]]:
        """When the tasks of a namespace on a row are expected to end, with what they take."""
        if not namespace:
            return []
        placements = self._cluster.placements
        found = []
        for task in placements.by_row[row]:
            placement = placements.by_task[task]
            if placement.victim_info.namespace == namespace:
                end = self._ends.at(task)
                found.append((NEVER if end is None else end, placement.column))
        return found

    def _shared(self, now: float) -> Horizon:
        stamp = (now, self._cluster.changes)
        if self._horizon is None or self._stamp != stamp:
            self._horizon, self._stamp = self.horizon(now), stamp
        return self._horizon

    def _without(self, owners: Collection[int], namespace: str) -> bool:
        if any(owner in self.of_work for owner in owners):
            return True
        return any(window.tenant == namespace for windows in self.reserved.values() for window in windows)

    def _all(self, owners: Collection[int], namespace: str) -> Iterator[Promise]:
        """Promises to others."""
        for owner, promise in self.of_work.items():
            if owner not in owners:
                yield promise
        for windows in self.reserved.values():
            for window in windows:
                if window.tenant != namespace:
                    yield window
