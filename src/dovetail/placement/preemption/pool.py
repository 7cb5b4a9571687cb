"""Who may be a victim in one call, what each of them frees and costs, and which least urgent classes could be enough.

A task of a gang that can lose nobody brings all the others with it; so it may be taken only if all of them may, and it
counts as urgent as the most urgent of them. A gang that can lose some gives up to so many singly.
Guarantees: nothing here changes the cluster or the table. `thresholds` never skips a class that would be enough; where
gangs give some but must not be broken, a class it offers may still turn out not to be.
Leaves to others: choosing (`row`, `single`, `gang`, `small`) and keeping account of what was chosen (`ledger`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.model.task import TaskId
from dovetail.placement.preemption.cost import BROKEN_GANG, LONGEST_S, weight
from dovetail.placement.preemption.stakes import I1, I8, StakeArrays, StakeTable

Eligible = Callable[[StakeArrays], B1]

NEVER = -1  # a rank below all: may not be taken
_NO_LIMIT = 1 << 40
ALL_ROWS = slice(None)


class Pool:
    room: F8  # float64[needed resource, row]: free now, or as soon as tasks that are being stopped are gone
    enters: I1  # by slot: the least urgent rank at which taking it can be thought of, or NEVER
    most: F8  # the room once everyone who may go at this threshold is gone
    threshold: int  # tasks more urgent than this are left alone
    takeable: B1  # by slot, at this threshold, on a candidate row
    lost_s: F8
    too_soon: B1

    def __init__(
        self,
        table: StakeTable,
        candidates: B1,
        column: F8,
        eligible: Eligible,
        now: float,
        budgets: Mapping[int, int],
        slack: Mapping[int, int],
        exclude: Collection[TaskId],
    ) -> None:
        self.table, self.candidates, self._now = table, candidates, now
        arrays = self._arrays = table.arrays
        needed = self._needed = np.flatnonzero(column > 0)
        self.column = [int(amount) for amount in column[needed].tolist()]
        self._column = column[needed, None]
        self.room = table.cluster.resources.free[needed, : table.cluster.width]
        self.standing = arrays.placed.copy()  # placed and not being stopped
        for slot in map(table.slot_of, sorted(exclude)):
            if slot is not None:
                self.standing[slot] = False
                self.room[:, arrays.row[slot]] += self.size(slot)
        self.limits = budgets
        units = table.unit_codes
        self.slack = {units[unit]: left for unit, left in slack.items() if unit in units and left > 0}
        self._may: B1 = eligible(arrays) & self.standing & arrays.preemptible
        self._members: dict[int, list[int]] = {}
        self._rank_units()

    def _rank_units(self) -> None:
        """When a task can be taken, and when a gang can be broken: `unit_rank`, NEVER if a member may not go."""
        codes = self._arrays.unit_code
        self.ganged: Rows = np.zeros(0, dtype=np.intp)  # slots of members of gangs
        self.enters = np.where(self._may, self._arrays.rank, np.int8(NEVER))
        self.unit_rank: I1 = np.full(len(self.table.unit_codes), np.iinfo(np.int8).max, dtype=np.int8)
        if not len(self.unit_rank):
            return
        ganged = self.ganged = np.flatnonzero(self.standing & (codes >= 0))
        self._ganged_units = codes[ganged]
        np.minimum.at(self.unit_rank, codes[ganged], self.enters[ganged])
        together: B1 = np.ones(len(self.unit_rank), dtype=np.bool_)
        together[list(self.slack)] = False
        drawn = ganged[together[codes[ganged]]]
        self.enters[drawn] = np.minimum(self.enters[drawn], self.unit_rank[codes[drawn]])

    # --- how many fit ----------------------------------------------------------------------------------------

    def fits(self, room: F8, rows: Rows | slice = ALL_ROWS) -> I8:
        """By row: how many of the tasks fit into this room; none where the constraints forbid the node."""
        counts = np.floor(room / self._column)
        counts -= counts * self._column > room  # a quotient may have been rounded up to the next whole number
        least = counts.min(axis=0, initial=_NO_LIMIT)
        return np.where(self.candidates[rows], np.maximum(least, 0), 0).astype(np.int64)

    def holds(self, room: F8, counts: I8 | int) -> B1:
        """By row: whether so many fit; quicker than counting."""
        return self.candidates & (room >= self._column * counts).all(axis=0)

    def size(self, slot: int) -> F8:
        """float64[needed resource]: what one task would free."""
        found: F8 = self.table.amounts[self._needed, slot]
        return found

    def sizes(self, slots: slice) -> F8:
        """float64[needed resource, slot]: what each would free."""
        return self.table.amounts[self._needed, slots]

    def freed(self, slots: I8) -> F8:
        """float64[needed resource, row]: what these tasks would free."""
        rows, width = self._arrays.row[slots], self.room.shape[1]
        return np.array([np.bincount(rows, size, width) for size in self.each(slots)])

    def without(self, slots: list[int]) -> tuple[Rows, F8]:
        """The rows these tasks are on, and the room there once they are gone."""
        gone = np.array(slots, dtype=np.intp)
        rows, which = np.unique(self._arrays.row[gone], return_inverse=True)
        freed = [np.bincount(which, size, len(rows)) for size in self.each(gone)]
        return rows, self.room[:, rows] + np.array(freed)

    def each(self, slots: I8) -> Iterator[F8]:
        """For each needed resource, what each of these tasks would free."""
        for k in range(len(self.column)):
            yield self.one(k, slots)

    def one(self, k: int, slots: I8) -> F8:
        """What each of these tasks would free of the k-th needed resource."""
        found: F8 = self.table.amounts[self._needed[k]][slots]
        return found

    def thresholds(self, count: int) -> Iterator[int]:
        """Ranks, least urgent first, at which taking everyone no more urgent could make room for all."""
        if not self.column:
            return
        enters = self.enters
        if not self.candidates.all():
            enters = np.where(self.candidates[self._arrays.row], enters, np.int8(NEVER))
        room = self.room
        for rank in range(int(enters.max(initial=NEVER)), NEVER, -1):
            slots = np.flatnonzero(enters == rank)
            if not len(slots):
                continue
            room = room + self.freed(slots)
            some = self.holds(room, 1)
            if some.any() and (count == 1 or np.minimum(self.fits(room), count).sum() >= count):
                self._settle(rank, enters, some)
                self.most = room
                yield rank

    def _settle(self, threshold: int, enters: I1, helps: B1) -> None:
        """Who may go at this threshold, on rows where that helps, and what they and their gangs would lose."""
        arrays = self._arrays
        self.threshold = threshold
        self.takeable = (enters >= threshold) & helps[arrays.row]
        concerned = self.takeable.copy()
        concerned[self.ganged] = self._may[self.ganged]
        self._weights: dict[int, int] = {}
        self._prices: dict[int, int] = {}
        slots = np.flatnonzero(concerned & (arrays.rank >= threshold))
        elapsed_s = np.maximum(self._now - arrays.since[slots], 0.0)
        saved_every_s = arrays.checkpoint_s[slots]
        # As a remainder, but several times quicker; whole seconds come out exactly.
        saves = saved_every_s > 0
        saved_s = np.floor(elapsed_s / np.where(saves, saved_every_s, np.inf)) * np.where(saves, saved_every_s, 0.0)
        lost_s = np.maximum(elapsed_s - saved_s, 0.0)
        self.lost_s = np.zeros(self.table.size)
        self.lost_s[slots] = np.minimum(np.floor(lost_s), LONGEST_S)
        self.too_soon = np.zeros(self.table.size, dtype=np.bool_)
        self.too_soon[slots] = elapsed_s < arrays.min_run_s[slots]

    # --- one task, one gang ----------------------------------------------------------------------------------

    def weight(self, slot: int) -> int:
        """What one task costs, apart from its budget and its gang."""
        found = self._weights.get(slot)
        if found is None:
            found = self._weights[slot] = weight(bool(self.too_soon[slot]), int(self.lost_s[slot]))
        return found

    def unit(self, slot: int) -> int:
        return self._arrays.unit_code.item(slot)

    def group(self, slot: int) -> int:
        """The group whose budget a task counts against; -1 if it has none."""
        group = self._arrays.group.item(slot)
        return group if group in self.limits else -1

    def row(self, slot: int) -> int:
        return self._arrays.row.item(slot)

    def members(self, unit: int) -> list[int]:
        """Everyone of a gang who is placed and not being stopped, wherever they are."""
        found = self._members.get(unit)
        if found is None:
            found = self._members[unit] = self.ganged[self._ganged_units == unit].tolist()
        return found

    def breakable(self, unit: int) -> bool:
        return bool(self.unit_rank[unit] >= self.threshold)

    def price(self, unit: int) -> int:
        """What breaking a whole gang costs, apart from budgets."""
        found = self._prices.get(unit)
        if found is None:
            found = self._prices[unit] = BROKEN_GANG + sum(map(self.weight, self.members(unit)))
        return found
