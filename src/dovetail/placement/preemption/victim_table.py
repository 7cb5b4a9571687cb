"""The cost of evicting each placed task, as arrays over all of them, updated from the cluster's change log.

A node's tasks lie side by side, ordered by id, with a little room to grow. When the cluster's log says that a row's
placements changed, that row alone is written again; a row that outgrows its place moves to the end. Sums by row and
rank are kept along, so that a search can leave out at once the rows that could never be cleared enough.
Guarantees: after `refresh` the arrays say what the cluster says, whatever happened in between, trials included.
Leaves to others: who may be a victim (`pool`), and which are (`single`, `gang`). A `VictimInfo` replaced without
taking the task off its node is not in the log and is not noticed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, grown
from dovetail.cluster.change_log import PLACEMENTS, LogCursor
from dovetail.cluster.placements import RANKS, Placement, VictimInfo
from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId

I8 = npt.NDArray[np.int64]
I1 = npt.NDArray[np.int8]

#: Empty slots behind a node's tasks, so that a task more does not move them.
SPARE_SLOTS = 2
#: One slot in so many lies behind all nodes, for those that move. More would make every pass over all slots longer.
SPARE_SHARE = 8
#: Rows written one by one, besides a share of all, until rebuilding is quicker.
FEW_ROWS = 64


@dataclass(slots=True)
class VictimArrays:
    """One entry a slot. Where `placed` is false the slot is empty, and the rest is meaningless."""

    placed: B1
    workload: I8
    replica: I8
    row: I8
    rank: I1
    since: F8
    checkpoint_s: F8
    min_run_s: F8
    unit: I8
    group: I8
    queue: I8
    priority: I8
    preemptible: B1
    unit_code: I8  # 0, 1, … in place of gang ids, -1: none; codes index arrays, ids need not


#: What is copied from a `VictimInfo` as it is.
_COPIED = ("rank", "since", "checkpoint_s", "min_run_s", "unit", "group", "queue", "priority", "preemptible")
_PLACES = [(name, VictimInfo._fields.index(name)) for name in _COPIED]
_UNIT = VictimInfo._fields.index("unit")
_FLOATS, _FLAGS = ("since", "checkpoint_s", "min_run_s"), ("placed", "preemptible")
_TYPES: dict[str, type] = {"rank": np.int8, **dict.fromkeys(_FLOATS, np.float64), **dict.fromkeys(_FLAGS, np.bool_)}


def _empty(size: int) -> VictimArrays:
    return VictimArrays(
        **{field.name: np.zeros(size, _TYPES.get(field.name, np.int64)) for field in fields(VictimArrays)}
    )


class VictimTable:
    """Keep one for each cluster and call `refresh` before reading."""

    arrays: VictimArrays
    amounts: F8  # float64[resource, slot]
    no_more_urgent: F8  # float64[rank, resource, row]: what tasks of this rank and less urgent ones hold together
    ganged: I8  # slots of members of gangs, in order
    ganged_units: I8  # and the codes of their gangs
    first: I8  # by row: its first slot
    unit_codes: dict[int, int]
    _saved: dict[str, object] | None = None  # what is restored at the end of a question; empty: nothing changed yet
    _used: int  # slots given to rows, also those that a row left behind
    _wanted: int  # slots in use when the arrays were made
    lengths: I8  # by row: how many tasks it has
    _space: I8  # by row: its slots

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._log = LogCursor(cluster, (PLACEMENTS,))
        self._rebuild()

    @property
    def size(self) -> int:
        """Slots, empty ones included: the length of every array."""
        return len(self.arrays.placed)

    def refresh(self) -> None:
        """Apply everything that changed in the cluster since the last call."""
        cluster = self.cluster
        grew = cluster.width != len(self.first) or len(cluster.resources.names) != len(self.amounts)
        if self._log.is_lost or grew:
            self._rebuild()
            return
        if self._log.is_at_end:
            return
        self._save()
        dirty = sorted(self._log.changed()[PLACEMENTS])
        if len(dirty) > FEW_ROWS + cluster.width // 4:
            self._rebuild()
            return
        self._update_rows(dirty)
        if self._used > 2 * self._wanted or len(self.unit_codes) > 4 * len(cluster.placements.by_task) + 1024:
            self._rebuild()

    @contextmanager
    def restored(self) -> Iterator[None]:
        """At the end the arrays are as they were. For questions: where tasks lie in the arrays decides between equally
        good victims, and depends on when the arrays were refreshed."""
        outer, self._saved = self._saved, {}
        try:
            yield
        finally:
            saved = self._saved
            vars(self).update(saved)
            self._saved = outer

    def _save(self) -> None:
        """Before the first change, if all changes are to be undone."""
        if self._saved == {}:
            kept = {name: value for name, value in vars(self).items() if name not in ("cluster", "_saved")}
            copied = {n: value.copy() for n, value in kept.items() if isinstance(value, (np.ndarray, dict, LogCursor))}
            arrays = replace(
                self.arrays, **{one.name: getattr(self.arrays, one.name).copy() for one in fields(VictimArrays)}
            )
            self._saved = kept | copied | {"arrays": arrays}

    def slots(self, row: int) -> slice:
        first = int(self.first[row])
        return slice(first, first + int(self.lengths[row]))

    def task(self, slot: int) -> TaskId:
        return TaskId(self.arrays.workload.item(slot), self.arrays.replica.item(slot))

    def slot_of(self, task: TaskId) -> int | None:
        """Where a placed task lies; None if it is not placed."""
        placement = self.cluster.placements.by_task.get(task)
        if placement is None:
            return None
        first = int(self.first[placement.row])
        return first + sorted(self.cluster.placements.by_row[placement.row]).index(task)

    # --- writing ---------------------------------------------------------------------------------------------

    def _rebuild(self) -> None:
        cluster = self.cluster
        self._save()
        self._log.skip()
        self.unit_codes = {}
        counts = np.array([len(tasks) for tasks in cluster.placements.by_row], dtype=np.int64)
        self.lengths = counts
        self._space = counts + SPARE_SLOTS
        self.first = np.cumsum(self._space) - self._space
        self._used = int(self._space.sum())
        self._wanted = max(self._used, FEW_ROWS)
        size = self._used + self._used // SPARE_SHARE
        self.arrays = _empty(size)
        self.amounts = np.zeros((len(cluster.resources.names), size))
        self.no_more_urgent = np.zeros((RANKS, len(self.amounts), cluster.width))
        self.ganged = self.ganged_units = np.zeros(0, dtype=np.int64)
        self._write(range(cluster.width))

    def _update_rows(self, dirty: list[int]) -> None:
        self._remove_gangs(dirty)
        for row in dirty:
            count = len(self.cluster.placements.by_row[row])
            self.arrays.placed[self.slots(row)] = False
            if count > self._space[row]:
                self.first[row], self._space[row] = self._used, 2 * count + SPARE_SLOTS
                self._used += 2 * count + SPARE_SLOTS
            self.lengths[row] = count
        if self._used > self.size:
            self._widen(self._used + self._used // SPARE_SHARE)
        self._write(dirty)

    def _widen(self, size: int) -> None:
        for field in fields(VictimArrays):
            setattr(self.arrays, field.name, grown(getattr(self.arrays, field.name), size))
        self.amounts = grown(self.amounts, size)

    def _write(self, rows: Sequence[int]) -> None:
        """Everything about these rows, in one go: a handful of array writes, however many rows."""
        placements, arrays = self.cluster.placements, self.arrays
        counts = self.lengths[rows]
        tasks = list(chain.from_iterable(sorted(placements.by_row[row]) for row in rows))
        found = [placements.by_task[task] for task in tasks]
        at = np.arange(len(tasks)) + np.repeat(self.first[rows] - (np.cumsum(counts) - counts), counts)
        if tasks:
            arrays.placed[at] = True
            arrays.row[at] = np.repeat(rows, counts)
            arrays.workload[at], arrays.replica[at] = zip(*tasks, strict=True)
            self._write_infos(at, [placement.victim_info for placement in found])
            self.amounts[:, at] = self._amounts(found)
        self._add_up(rows, at)
        self._add_gangs(at)

    def _remove_gangs(self, rows: list[int]) -> None:
        """Before these rows are written again."""
        starts = np.searchsorted(self.ganged, self.first[rows]).tolist()
        ends = np.searchsorted(self.ganged, self.first[rows] + self.lengths[rows]).tolist()
        kept: B1 = np.ones(len(self.ganged), dtype=np.bool_)
        for start, end in zip(starts, ends, strict=True):
            kept[start:end] = False
        self.ganged, self.ganged_units = self.ganged[kept], self.ganged_units[kept]

    def _add_gangs(self, at: I8) -> None:
        added = np.sort(at[self.arrays.unit_code[at] >= 0])
        places = np.searchsorted(self.ganged, added)
        self.ganged = np.insert(self.ganged, places, added)
        self.ganged_units = np.insert(self.ganged_units, places, self.arrays.unit_code[added])

    def _write_infos(self, at: I8, infos: list[VictimInfo]) -> None:
        columns = list(zip(*infos, strict=True))
        for name, place in _PLACES:
            getattr(self.arrays, name)[at] = columns[place]
        codes = self.unit_codes
        self.arrays.unit_code[at] = [codes.setdefault(id_, len(codes)) if id_ >= 0 else -1 for id_ in columns[_UNIT]]

    def _amounts(self, found: list[Placement]) -> F8:
        """float64[resource, task]. A task placed before a resource was known has none of it."""
        columns = [placement.column for placement in found]
        width = len(self.amounts)
        if any(len(column) != width for column in columns):
            columns = [grown(column, width) for column in columns]
        return np.concatenate(columns).reshape(len(columns), width).T

    def _add_up(self, rows: Sequence[int], at: I8) -> None:
        count = len(rows)
        place = np.repeat(np.arange(count), self.lengths[rows]) + self.arrays.rank[at].astype(np.int64) * count
        for sums, amounts in zip(self.no_more_urgent.swapaxes(0, 1), self.amounts, strict=True):
            by_rank = np.bincount(place, amounts[at], RANKS * count).reshape(RANKS, count)
            sums[:, rows] = by_rank[::-1].cumsum(axis=0)[::-1]
