"""Promises: capacity held for queue heads, for preemptors that wait for their victims, and for advance reservations.

Every other task is checked against the promises: it may start only if it leaves the promised capacity free for as long
as it is expected to run. The horizon (free capacity over time on the promised rows) is built on first use and dropped
when anything changes that it depends on. Who gets a promise is decided elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER, Horizon
from dovetail.cluster.state import Cluster
from dovetail.engine.promises.expected_ends import ExpectedEnds
from dovetail.engine.promises.nominated_tasks import NominatedTasks
from dovetail.engine.promises.promised_rows import PromisedRows
from dovetail.placement.contract import PromisedCapacity

_NONE_FREE = -1.0


@dataclass(frozen=True, slots=True)
class Promise:
    """Capacity on rows (`float64[resource]` each) from start to end. With `shareable` False no other task may use the
    rows after the start, not even what the promise leaves free (textbook EASY backfilling)."""

    owner_name: str
    start: float
    end: float
    rows: tuple[tuple[int, F8], ...]
    shareable: bool = True
    clearing: bool = False  # its victims are being stopped
    as_of: int = -1  # the event count when it was made
    #: Of a gang of pods that waits for its victims: the row of each workload.
    members: Mapping[int, int] = field(default_factory=dict)
    tenant: str | None = None  # set for an advance reservation: the namespace that may use it; empty: none may

    def equals(self, other: "Promise | None") -> bool:
        return (
            other is not None
            and (self.start, self.end, self.shareable) == (other.start, other.end, other.shareable)
            and [row for row, _ in self.rows] == [row for row, _ in other.rows]
        )


class Promises:
    def __init__(self, cluster: Cluster, ends: ExpectedEnds) -> None:
        self._cluster = cluster
        self._ends = ends
        self.of_work: dict[int, Promise] = {}
        self.reserved: dict[int, tuple[Promise, ...]] = {}  # by reservation: its upcoming windows
        self.held: dict[int, Promise] = {}  # by reservation without tenant: its current window
        self._rows_of_tenants: set[int] = set()  # rows with a reservation that some namespace may use
        self.nominated_tasks = NominatedTasks()
        self._by_row = PromisedRows()
        self._starts: Counter[float] = Counter()  # of promises to workloads
        self._exclusive = 0  # promises to workloads that are not shareable
        self.not_clearing: dict[int, None] = {}  # workloads promised a later start, without victims
        self._horizon: Horizon | None = None
        self._stamp: tuple[float, int] = (0.0, -1)

    def __bool__(self) -> bool:
        return bool(self.of_work or self.reserved)

    def make(self, work: int, promise: Promise) -> None:
        if work in self.of_work:
            self._unindex(work, self.of_work[work])
        self.of_work[work] = promise
        self._by_row.add(work, promise.owner_name, promise.rows)
        self._starts[promise.start] += 1
        self._exclusive += not promise.shareable
        if not promise.clearing:
            self.not_clearing[work] = None
        self.nominated_tasks.mark_dirty(work)
        self._horizon = None

    def withdraw(self, work: int) -> Promise | None:
        found = self.of_work.pop(work, None)
        if found is not None:
            self._unindex(work, found)
            self._horizon = None
        return found

    def _unindex(self, work: int, promise: Promise) -> None:
        self._by_row.remove(work)
        self._starts[promise.start] -= 1
        if not self._starts[promise.start]:
            del self._starts[promise.start]
        self._exclusive -= not promise.shareable
        self.not_clearing.pop(work, None)
        self.nominated_tasks.mark_dirty(work)

    def on_row(self, row: int) -> Collection[int]:
        """Workloads that were promised capacity on the row."""
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
        """The cluster holds this capacity back from now until the window ends. None: not any more."""
        if window is not None:
            self.held[reservation] = window
        else:
            self.held.pop(reservation, None)
        self._horizon = None

    def rows_reserved(self, namespace: str, start: float, end: float) -> set[int]:
        """Rows that other namespaces have reserved at some time between start and end."""
        windows = (w for ws in self.reserved.values() for w in ws if w.tenant != namespace)
        return {row for w in windows if w.start < end and start < w.end for row, _ in w.rows}

    def left_for(
        self, work: int, namespace: str, run_s: float | None, now: float, group_members: Collection[int] = ()
    ) -> PromisedCapacity | None:
        """What promises to others leave of their rows for a task that starts now. None if there are no such promises.
        The task may use what was promised to `group_members`: they start together."""
        owners = (work, *group_members)
        if not self.reserved and not self.held and not self._exclusive and max(self._starts, default=now) <= now:
            # All promises have begun, so there is never less free than now: tasks end, and promises too.
            return self._by_row.left(self._cluster.resources.free, owners)
        mine = self._has_own(owners, namespace)
        promises = list(self._others(owners, namespace))
        if not promises:
            return None
        horizon = self.horizon(now, owners, namespace) if mine else self._shared(now)
        end = NEVER if run_s is None else now + run_s
        names: dict[int, str] = {}
        closed: set[int] = set()
        for promise in promises:
            for row, _ in promise.rows:
                names.setdefault(row, promise.owner_name)
                if not promise.shareable and end >= promise.start:
                    closed.add(row)
        rows = sorted(names)
        room = np.array([horizon.profile(row).room(now, end) for row in rows]).T
        if closed:
            room[:, [row in closed for row in rows]] = _NONE_FREE
        return PromisedCapacity(np.array(rows, dtype=np.intp), room, tuple(names[row] for row in rows))

    def placed(self, row: int, column: F8, end: float, now: float, changes_before: int) -> None:
        """A task was placed: update the horizon instead of building a new one."""
        if self._horizon is not None and self._stamp == (now, changes_before):
            if row in self._rows_of_tenants:
                self._horizon = None  # the task may be the tenant's, and then less is held for the tenant
                return
            if row in self._horizon.profiles:
                self._horizon.occupy(row, now, end, column)
            self._stamp = (now, self._cluster.changes)

    def forget_horizon(self) -> None:
        self._horizon = None

    def horizon(self, now: float, owners: Collection[int] = (), namespace: str = "") -> Horizon:
        """Free capacity over time with all promises kept, except those to these workloads and this namespace."""
        found = self.without_promises(now)
        for promise in self._others(owners, namespace):
            if promise.tenant is None:
                self._occupy(promise, found, now)
        for window in self.held.values():
            self._occupy(window, found, now)
        self.occupy_reservations(found, now, namespace)
        return found

    def without_promises(self, now: float) -> Horizon:
        """Free capacity over time if nothing were promised and no reservation were held."""
        return Horizon(self.free_with_held(), now, self._ends, self._ends.on_row)

    def free_with_held(self) -> F8:
        """float64[resource, node]: what is free now, plus what is held for reservations without a tenant."""
        free = self._cluster.resources.free[:, : self._cluster.width]
        if self.held:
            free = free.copy()
            for window in self.held.values():
                for row, column in window.rows:
                    free[: len(column), row] += column
        return free

    def occupy_reservations(self, horizon: Horizon, now: float, namespace: str = "") -> None:
        """Subtract the advance reservations of other namespaces from a horizon."""
        by_row: dict[tuple[str, int], list[tuple[float, float, F8]]] = {}
        for windows in self.reserved.values():
            for window in windows:
                if window.tenant is not None and (not namespace or window.tenant != namespace):
                    for row, column in window.rows:
                        by_row.setdefault((window.tenant, row), []).append((window.start, window.end, column))
        for (tenant, row), held in by_row.items():
            for start, end, column in held_capacity(held, self.running_tasks(tenant, row), now):
                horizon.occupy(row, start, end, column)

    def _occupy(self, promise: Promise, horizon: Horizon, now: float) -> None:
        # A preemptor cannot start before its victims are gone: the end moves with the delay.
        end = promise.end + max(0.0, now - promise.start) if promise.clearing else promise.end
        for row, column in promise.rows:
            horizon.occupy(row, max(promise.start, now), end, column)

    def running_tasks(self, namespace: str, row: int) -> list[tuple[float, F8]]:
        """(expected end, amounts) of the namespace's tasks on the row."""
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

    def _has_own(self, owners: Collection[int], namespace: str) -> bool:
        if any(owner in self.of_work for owner in owners):
            return True
        return any(window.tenant == namespace for windows in self.reserved.values() for window in windows)

    def _others(self, owners: Collection[int], namespace: str) -> Iterator[Promise]:
        """Promises to others."""
        for owner, promise in self.of_work.items():
            if owner not in owners:
                yield promise
        for windows in self.reserved.values():
            for window in windows:
                if window.tenant != namespace:
                    yield window


def held_capacity(
    windows: Sequence[tuple[float, float, F8]], runs: Sequence[tuple[float, F8]], now: float
) -> Iterator[tuple[float, float, F8]]:
    """What one tenant's reservations hold of one node: (start, end, amounts) in order of time, none before now. A
    running task of the tenant uses its reservations, once, until it ends; only the rest has to stay free. `windows`:
    (start, end, amounts) reserved; `runs`: (end, amounts) of the tenant's running tasks."""
    if len(windows) == 1 and not runs:  # the usual case
        start, end, column = windows[0]
        yield max(start, now), end, column
        return
    width = max(len(column) for *_, column in windows)
    cuts = {max(start, now) for start, _, _ in windows} | {end for _, end, _ in windows if end > now}
    last = max(cuts)
    cuts |= {end for end, _ in runs if now < end < last}
    for start, end in pairwise(sorted(cuts)):
        held = [column for from_, to, column in windows if from_ <= start < to]
        if not held:
            continue
        kept = _sum(held, width) - _sum([column for ends, column in runs if ends > start], width)
        kept = np.maximum(kept, 0.0)
        if kept.any():
            yield start, end, kept


def _sum(columns: Sequence[F8], width: int) -> F8:
    """Columns may differ in length: resources are added to the table while the engine runs."""
    found: F8 = np.zeros(width)
    for column in columns:
        n = min(width, len(column))
        found[:n] += column[:n]
    return found
