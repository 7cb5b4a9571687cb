"""What every placed task has at stake, as arrays over all of them, kept up to date instead of gathered anew.

A node's tasks lie side by side, ordered by id, with a little room to grow. When the cluster's log says that a row's
placements changed, that row alone is written again; a row that outgrows its place moves to the end.
Guarantees: after `refresh` the arrays say what the cluster says, whatever happened in between, trials included.
Leaves to others: who may be a victim (`pool`), and which are (`single`, `gang`). A stake that is exchanged without
taking the task off its node is not in the log and is not noticed.
"""

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, grown
from dovetail.cluster.placements import Stake
from dovetail.cluster.state import PLACEMENTS, Cluster
from dovetail.model.task import TaskId

I8 = npt.NDArray[np.int64]
I1 = npt.NDArray[np.int8]

#: Empty slots behind a node's tasks, so that a task more does not move them.
SPARE_SLOTS = 2
#: Rows written one by one, beyond a share of all, until it is quicker to begin again.
FEW_ROWS = 64


@dataclass(slots=True)
class StakeArrays:
    """One entry a slot. Where `placed` is false nobody is, and the rest says nothing."""

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
    preemptible: B1
    unit_code: I8  # 0, 1, … in place of gang ids, -1: none; codes index arrays, ids need not
    group_code: I8


#: What is copied from a `Stake` as it is.
_COPIED = ("rank", "since", "checkpoint_s", "min_run_s", "unit", "group", "queue", "preemptible")
_PLACES = [(name, Stake._fields.index(name)) for name in _COPIED]


def _empty(size: int) -> StakeArrays:
    def whole() -> I8:
        return np.zeros(size, dtype=np.int64)

    def flag() -> B1:
        return np.zeros(size, dtype=np.bool_)

    return StakeArrays(
        placed=flag(),
        workload=whole(),
        replica=whole(),
        row=whole(),
        rank=np.zeros(size, dtype=np.int8),
        since=np.zeros(size),
        checkpoint_s=np.zeros(size),
        min_run_s=np.zeros(size),
        unit=whole(),
        group=whole(),
        queue=whole(),
        preemptible=flag(),
        unit_code=whole(),
        group_code=whole(),
    )


class StakeTable:
    """Keep one for each cluster and call `refresh` before reading."""

    arrays: StakeArrays
    amounts: F8  # float64[resource, slot]
    first: I8  # by row: its first slot
    unit_codes: dict[int, int]
    group_codes: dict[int, int]
    _epoch: int
    _seen: int  # entries of the log
    _used: int  # slots given to rows, also those that a row left behind
    _wanted: int  # slots in use when the arrays were made
    _length: I8  # by row: its tasks
    _space: I8  # by row: its slots

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._begin_again()

    @property
    def size(self) -> int:
        """Slots, empty ones included: the length of every array."""
        return len(self.arrays.placed)

    def refresh(self) -> None:
        """Take in everything that changed in the cluster since the last call."""
        cluster = self.cluster
        log = cluster.log[PLACEMENTS]
        grew = cluster.width != len(self.first) or len(cluster.resources.names) != len(self.amounts)
        if self._epoch != cluster.epoch or grew:
            self._begin_again()
            return
        if self._seen == len(log):
            return
        dirty = sorted(set(log[self._seen :]))
        self._seen = len(log)
        if len(dirty) > FEW_ROWS + cluster.width // 4:
            self._begin_again()
            return
        for row in dirty:
            self._mend(row)
        codes = len(self.unit_codes) + len(self.group_codes)
        if self._used > 2 * self._wanted or codes > 4 * len(cluster.placements.by_task) + 1024:
            self._begin_again()

    def slots(self, row: int) -> slice:
        first = int(self.first[row])
        return slice(first, first + int(self._length[row]))

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

    def _begin_again(self) -> None:
        cluster = self.cluster
        self._epoch, self._seen = cluster.epoch, len(cluster.log[PLACEMENTS])
        self.unit_codes, self.group_codes = {}, {}
        counts = np.array([len(tasks) for tasks in cluster.placements.by_row], dtype=np.int64)
        self._length = counts
        self._space = counts + SPARE_SLOTS
        self.first = np.cumsum(self._space) - self._space
        self._used = int(self._space.sum())
        self._wanted = max(self._used, FEW_ROWS)
        self.arrays = _empty(self._used)
        self.amounts = np.zeros((len(cluster.resources.names), self._used))
        for row in np.flatnonzero(counts):
            self._write(int(row))

    def _mend(self, row: int) -> None:
        count = len(self.cluster.placements.by_row[row])
        self.arrays.placed[self.slots(row)] = False
        if count > self._space[row]:
            self.first[row], self._space[row] = self._used, 2 * count + SPARE_SLOTS
            self._used += 2 * count + SPARE_SLOTS
            if self._used > self.size:
                self._widen(2 * self._used)
        self._length[row] = count
        if count:
            self._write(row)

    def _widen(self, size: int) -> None:
        for field in fields(StakeArrays):
            setattr(self.arrays, field.name, grown(getattr(self.arrays, field.name), size))
        self.amounts = grown(self.amounts, size)

    def _write(self, row: int) -> None:
        placements, at, arrays = self.cluster.placements, self.slots(row), self.arrays
        tasks = sorted(placements.by_row[row])
        found = [placements.by_task[task] for task in tasks]
        stakes = [placement.stake for placement in found]
        arrays.placed[at] = True
        arrays.row[at] = row
        arrays.workload[at], arrays.replica[at] = zip(*tasks, strict=True)
        columns = list(zip(*stakes, strict=True))
        for name, place in _PLACES:
            getattr(arrays, name)[at] = columns[place]
        units, groups = self.unit_codes, self.group_codes
        arrays.unit_code[at] = [units.setdefault(s.unit, len(units)) if s.unit >= 0 else -1 for s in stakes]
        arrays.group_code[at] = [groups.setdefault(s.group, len(groups)) if s.group >= 0 else -1 for s in stakes]
        self.amounts[:, at] = 0.0
        for slot, placement in enumerate(found, at.start):
            self.amounts[: len(placement.column), slot] = placement.column
