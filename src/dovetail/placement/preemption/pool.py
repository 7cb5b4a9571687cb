"""The possible victims of one search: what each of them frees and costs, and which priority classes could be enough.

A gang that can lose no task is evicted as a whole: a task of it is eligible only if all of them are, and counts with
the priority of the most urgent. A gang that can lose some tasks loses up to that many singly.
A *place* is an index into the short arrays of those eligible at one threshold; a slot is an index into the table.
Guarantees: nothing here changes the cluster or the table. `thresholds` never skips a class that would be enough; where
gangs may lose some tasks but not be broken, a class it offers may turn out not to be enough.
Leaves to others: choosing (`row`, `single`, `gang`, `small`) and recording what was chosen (`victim_ledger`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from math import floor

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.placements import RANKS
from dovetail.model.task import TaskId
from dovetail.placement.preemption.cost import BROKEN_GANG, LONGEST_S, weight
from dovetail.placement.preemption.victim_table import I8, VictimArrays, VictimTable

Eligible = Callable[[VictimArrays], B1]

_NO_LIMIT = 1 << 40
ALL_ROWS = slice(None)


class VictimPool:
    room: F8  # float64[needed resource, row]: free now, or as soon as tasks that are being stopped are gone
    most: F8  # the room once everyone who may go at this threshold is gone
    threshold: int  # tasks more urgent than this are left alone
    slack: dict[int, int]  # by gang that someone may be taken from: how many it can lose, if any
    takeable: B1  # by slot, at this threshold, on a candidate row
    slots: I8  # by place, those in order; also the rest of the short arrays is by place
    rows: I8
    units: I8
    amounts: F8  # float64[needed resource, place]
    lost_s: F8
    too_soon: B1

    def __init__(
        self,
        table: VictimTable,
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
        self.running = arrays.placed.copy()  # placed and not being stopped
        for slot in map(table.slot_of, sorted(exclude)):
            if slot is not None:
                self.running[slot] = False
                self.room[:, arrays.row[slot]] += self.size(slot)
        self.limits = budgets
        self._all_slack = slack
        self._may: B1 = eligible(arrays) & self.running & arrays.preemptible
        self.ganged, self.ganged_units = table.ganged, table.ganged_units
        if exclude:
            left = self.running[table.ganged]
            self.ganged, self.ganged_units = table.ganged[left], table.ganged_units[left]
        self._members: dict[int, list[int]] = {}

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

    def size(self, slots: int | slice) -> F8:
        """float64[needed resource], for a slice float64[needed resource, slot]: what each task would free."""
        found: F8 = self.table.amounts[self._needed, slots]
        return found

    def freed(self, slots: I8) -> F8:
        """float64[needed resource, row]: what these tasks would free."""
        return self._by_row(self._arrays.row[slots], self._each(slots))

    def freed_by(self, places: I8) -> F8:
        """The same, by place."""
        return self._by_row(self.rows[places], self.amounts[:, places])

    def _by_row(self, rows: I8, amounts: F8) -> F8:
        return np.array([np.bincount(rows, some, self.room.shape[1]) for some in amounts])

    def freed_where(self, slots: list[int]) -> tuple[Rows, F8]:
        """The rows these tasks are on, and what they would free there: for a few tasks, quicker than over all rows."""
        gone = np.array(slots, dtype=np.int64)
        rows, which = np.unique(self._arrays.row[gone], return_inverse=True)
        return rows, np.array([np.bincount(which, sizes, len(rows)) for sizes in self._each(gone)])

    def without(self, slots: list[int]) -> tuple[Rows, F8]:
        """The rows these tasks are on, and the room there once they are gone."""
        rows, freed = self.freed_where(slots)
        return rows, self.room[:, rows] + freed

    def _each(self, slots: I8) -> F8:
        """float64[needed resource, slot given]: row by row, which is quicker than all at once."""
        found: F8 = np.empty((len(self._needed), len(slots)))
        for k, resource in enumerate(self._needed.tolist()):
            self.table.amounts[resource].take(slots, out=found[k])
        return found

    # --- who may go ------------------------------------------------------------------------------------------

    def thresholds(self, count: int) -> Iterator[int]:
        """Ranks, least urgent first, at which evicting all eligible tasks could free enough for all."""
        if not self.column:
            return
        before = 0, 0
        for rank in reversed(range(RANKS)):
            at_most = self.room + self.table.no_more_urgent[rank, self._needed]
            possible = self.holds(at_most, 1)
            if not possible.any():
                continue
            helps = self._gather(rank, possible)
            # Both only grow from rank to rank: where they are as many, they are the same.
            now = len(self.slots), int(np.count_nonzero(self._breakable))
            if now == before or not helps.any():
                continue
            if count == 1 or np.minimum(self.fits(self.most), count).sum() >= count:
                before = now
                self._settle(rank, helps)
                yield rank

    def _gather(self, threshold: int, possible: B1) -> B1:
        """Who may go at this threshold on these rows, and on which rows that helps."""
        arrays = self._arrays
        low = self._may & (arrays.rank >= threshold)
        self._breakable: B1 = np.ones(len(self.table.unit_codes), dtype=np.bool_)
        self._breakable[self.ganged_units[~low[self.ganged]]] = False
        slots = np.flatnonzero(low)
        slots = slots[possible[arrays.row[slots]]]
        units = arrays.unit_code[slots]
        self.slack = self._slack_of(units)
        gives = np.append(self._breakable, True)  # the last one is for those who are in no gang
        gives[list(self.slack)] = True
        self.slots = slots[gives[units]]
        self.rows, self.amounts = arrays.row[self.slots], self._each(self.slots)
        self.most = self.room + self._by_row(self.rows, self.amounts)
        return self.holds(self.most, 1)

    def _slack_of(self, units: I8) -> dict[int, int]:
        seen: B1 = np.zeros(len(self.table.unit_codes) + 1, dtype=np.bool_)
        seen[units] = True
        ids, slack = list(self.table.unit_codes), self._all_slack
        return {code: left for code in np.flatnonzero(seen[:-1]).tolist() if (left := slack.get(ids[code], 0)) > 0}

    def _settle(self, threshold: int, helps: B1) -> None:
        """Only rows where that helps, and what those who may go there would lose."""
        self.threshold = threshold
        places = np.flatnonzero(helps[self.rows])
        self.slots, self.rows, self.amounts = self.slots[places], self.rows[places], self.amounts[:, places]
        self.units = self._arrays.unit_code[self.slots]
        self.takeable = np.zeros(self.table.size, dtype=np.bool_)
        self.takeable[self.slots] = True
        self.lost_s, self.too_soon = self.losses(self.slots)
        self._weights: dict[int, int] = {}
        self._prices: dict[int, int] = {}

    def losses(self, slots: I8) -> tuple[F8, B1]:
        """Work lost since the last checkpoint in whole seconds, and who has not had its least run time."""
        arrays = self._arrays
        elapsed_s = np.maximum(self._now - arrays.since[slots], 0.0)
        saved_every_s = arrays.checkpoint_s[slots]
        # As a remainder, but several times quicker; whole seconds come out exactly.
        saves = saved_every_s > 0
        saved_s = np.floor(elapsed_s / np.where(saves, saved_every_s, np.inf)) * np.where(saves, saved_every_s, 0.0)
        lost_s = np.floor(np.maximum(elapsed_s - saved_s, 0.0))
        return np.minimum(lost_s, LONGEST_S), elapsed_s < arrays.min_run_s[slots]

    # --- one task, one gang ----------------------------------------------------------------------------------

    def weight(self, slot: int) -> int:
        """What one task costs, apart from its budget and its gang: `losses`, for one."""
        found = self._weights.get(slot)
        if found is None:
            arrays = self._arrays
            elapsed_s, saved_every_s = max(self._now - arrays.since.item(slot), 0.0), arrays.checkpoint_s.item(slot)
            saved_s = floor(elapsed_s / saved_every_s) * saved_every_s if saved_every_s > 0 else 0.0
            too_soon = elapsed_s < arrays.min_run_s.item(slot)
            found = self._weights[slot] = weight(too_soon, floor(max(elapsed_s - saved_s, 0.0)))
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
            found = self._members[unit] = self.ganged[self.ganged_units == unit].tolist()
        return found

    def breakable(self, unit: int) -> bool:
        """Whether all of a gang may go."""
        return self._breakable.item(unit)

    def breakables(self, units: I8) -> B1:
        return self._breakable[units]

    def price(self, unit: int) -> int:
        """What breaking a whole gang costs, apart from budgets."""
        found = self._prices.get(unit)
        if found is None:
            found = self._prices[unit] = BROKEN_GANG + sum(map(self.weight, self.members(unit)))
        return found
