"""The fewest moves there are, for few nodes: every frame of every gang, every way to share out its tasks over the rows,
every set of others that makes the room. Branch and bound.

Guarantees: with steps left over, a thorough answer is the least number of moves that makes all the gangs asked about
whole, or None because nothing does. Deterministic: steps are counted, not timed.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from dovetail.placement.recovery.frames import Frame, frames
from dovetail.placement.recovery.problem import LOST, Plan, Problem

MOST_NODES, MOST_MOVABLES, MOST_FRAMES = 16, 60, 600
STEPS = 40_000

Amounts = tuple[int, ...]


class OutOfSteps(Exception):
    """It would take too long to be sure."""


class _Share(NamedTuple):
    """Tasks of one cell: of which gang, which, and on which rows they may be."""

    gang: int
    tasks: tuple[int, ...]
    rows: tuple[int, ...]


class Exact:
    def __init__(
        self,
        problem: Problem,
        chosen: Sequence[int],
        below: int | None,
        thorough: bool = True,
        steps: int = STEPS,
    ) -> None:
        """The gangs `chosen`; only answers with fewer than `below` moves count. Not `thorough`: nobody leaves a row
        whose room is not needed for a gang there. It could be needed for another who makes way, but seldom is."""
        self._problem, self._chosen, self._thorough = problem, chosen, thorough
        self._below = below
        self._steps = steps
        used = np.zeros(len(problem.now), dtype=np.bool_)
        for gang in problem.gangs:
            used |= gang.column > 0
        used |= (problem.movables.columns > 0).any(axis=0)
        self._used = np.flatnonzero(used)
        self._columns = [self._amounts(gang.column) for gang in problem.gangs]
        self._kinds = [self._amounts(column) for column in problem.movables.columns]
        self._now = [self._amounts(problem.now[:, row]) for row in range(problem.now.shape[1])]
        self._here: list[list[int]] = [[] for _ in self._now]
        for movable, row in enumerate(problem.movables.rows.tolist()):
            self._here[row].append(movable)
        self._known: dict[tuple[int, ...], int | None] = {}
        self.best: Plan | None = None

    def _amounts(self, column: np.ndarray) -> Amounts:
        return tuple(int(amount) for amount in column[self._used].tolist())

    def run(self) -> Plan | None:
        """Raises OutOfSteps."""
        options = []
        for at in self._chosen:
            found = list(islice(frames(self._problem.gangs[at]), MOST_FRAMES + 1))
            if len(found) > MOST_FRAMES:
                raise OutOfSteps
            fitting = [frame for frame in found if self._could_hold(at, frame)]
            options.append(sorted(fitting, key=lambda frame: len(frame.moved)))
        end = [list(self._amounts(self._problem.soon[:, row])) for row in range(len(self._now))]
        self._frame(options, [], end)
        return self.best

    def _could_hold(self, at: int, frame: Frame) -> bool:
        """Is there room in each cell if everybody goes who may, tasks of gangs among them?"""
        gang, column = self._problem.gangs[at], self._columns[at]
        leaving = [(gang.rows[member], column) for member in frame.moved]
        for other in self._chosen:
            if other != at:
                leaving += [(row, self._columns[other]) for row in self._problem.gangs[other].rows if row != LOST]
        for cell in frame.cells:
            held = 0
            for row in np.flatnonzero(cell.among).tolist():
                most = [int(amount) for amount in self._problem.soon[self._used, row]]
                for movable in self._here[row]:
                    _add(most, self._kinds[self._problem.movables.kinds[movable]], 1)
                for left, amounts in leaving:
                    if left == row:
                        _add(most, amounts, 1)
                copies = min([amount // each for amount, each in zip(most, column, strict=True) if each], default=1)
                held += min(copies, 1) if gang.alone else copies
            if held < len(cell.tasks):
                return False
        return True

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise OutOfSteps

    def _too_dear(self, cost: int) -> bool:
        return self._below is not None and cost >= self._below

    # --- which domains ---------------------------------------------------------------------------------------

    def _frame(self, options: list[list[Frame]], taken: list[Frame], end: list[list[int]]) -> None:
        own = sum(len(frame.moved) for frame in taken)
        rest = sum(len(found[0].moved) if found else 0 for found in options[len(taken) :])
        if self._too_dear(own + rest):
            return
        if len(taken) == len(options):
            self._share_out(taken, own, end)
            return
        at = self._chosen[len(taken)]
        gang, column = self._problem.gangs[at], self._columns[at]
        for frame in options[len(taken)]:
            if self._too_dear(own + rest - len(options[len(taken)][0].moved) + len(frame.moved)):
                return
            self._step()
            for member in frame.moved:
                _add(end[gang.rows[member]], column, 1)
            self._frame(options, [*taken, frame], end)
            for member in frame.moved:
                _add(end[gang.rows[member]], column, -1)

    # --- how many on which row -------------------------------------------------------------------------------

    def _share_out(self, taken: list[Frame], own: int, end: list[list[int]]) -> None:
        shares = [
            _Share(at, cell.tasks, tuple(np.flatnonzero(cell.among).tolist()))
            for at, frame in zip(self._chosen, taken, strict=True)
            for cell in frame.cells
        ]
        shares.sort(key=lambda share: len(share.rows))
        moved = {(at, m) for at, frame in zip(self._chosen, taken, strict=True) for m in frame.moved}
        full = {at: self._rows_kept(at, moved) for at in self._chosen if self._problem.gangs[at].alone}
        self._rows(shares, 0, 0, 0, own, end, [], full)

    def _rows_kept(self, at: int, moved: set[tuple[int, int]]) -> set[int]:
        rows = self._problem.gangs[at].rows
        return {row for member, row in enumerate(rows) if row != LOST and (at, member) not in moved}

    def _rows(
        self,
        shares: list[_Share],
        share: int,
        place: int,
        done: int,
        own: int,
        end: list[list[int]],
        placed: list[tuple[int, int, int]],
        full: dict[int, set[int]],
    ) -> None:
        """`done` tasks of a share have rows before `place`."""
        self._step()
        if share == len(shares):
            self._clear(own, end, placed)
            return
        one = shares[share]
        left = len(one.tasks) - done
        if not left:
            self._rows(shares, share + 1, 0, 0, own, end, placed, full)
            return
        if place == len(one.rows):
            return
        row, column = one.rows[place], self._columns[one.gang]
        used = full.get(one.gang)
        most = left if used is None else min(left, int(row not in used))
        options: list[int] = []
        free: list[int] = []
        for count in range(most + 1):
            after = [amount - count * each for amount, each in zip(end[row], column, strict=True)]
            least = self._least_on(row, after)
            if least is None:
                break
            (options if least else free).append(count)
        # What fits as it is comes first, most of it first; then what others have to make room for, least of it first.
        for count in [*reversed(free), *options]:
            _add(end[row], column, -count)
            if not self._too_dear(own + self._least(end)):
                if used is not None and count:
                    used.add(row)
                more = [(one.gang, task, row) for task in one.tasks[done : done + count]]
                self._rows(shares, share, place + 1, done + count, own, end, placed + more, full)
                if used is not None and count:
                    used.discard(row)
            _add(end[row], column, count)

    def _least_on(self, row: int, end: list[int]) -> int | None:
        """No fewer than so many have to leave a row; None: not even all would be enough."""
        if min(end, default=0) >= 0:
            return 0
        key = (row, *end)
        if key not in self._known:
            self._known[key] = self._fewest(row, end)
        return self._known[key]

    def _fewest(self, row: int, end: list[int]) -> int | None:
        least = 0
        for k, amount in enumerate(end):
            if amount < 0:
                sizes = sorted([self._kinds[self._problem.movables.kinds[m]][k] for m in self._here[row]], reverse=True)
                count = 0
                for size in sizes:
                    if amount >= 0:
                        break
                    amount += size
                    count += 1
                if amount < 0:
                    return None
                least = max(least, count)
        return least

    def _least(self, end: list[list[int]]) -> int:
        return sum(self._least_on(row, amounts) or 0 for row, amounts in enumerate(end) if min(amounts, default=0) < 0)

    # --- who makes way ---------------------------------------------------------------------------------------

    def _clear(self, own: int, end: list[list[int]], placed: list[tuple[int, int, int]]) -> None:
        rows = sorted({row for _, _, row in placed})
        for going in self._going(rows, 0, own, end, []):
            moves = self._settle(going, end)
            if moves is not None:
                self._below = own + len(going)
                self.best = self._plan(placed, moves)

    def _going(
        self, rows: list[int], at: int, cost: int, end: list[list[int]], going: list[int]
    ) -> Iterator[list[int]]:
        """Every set of others on the rows with gangs that leaves room for those; `end` is as it is then."""
        self._step()
        if self._too_dear(cost + sum(self._least_on(row, end[row]) or 0 for row in rows[at:])):
            return
        if at == len(rows):
            yield going
            return
        row = rows[at]
        for size in range(self._least_on(row, end[row]) or 0, len(self._here[row]) + 1):
            if self._too_dear(cost + size):
                return
            for chosen in combinations(self._here[row], size):
                self._step()
                columns = [self._kinds[self._problem.movables.kinds[one]] for one in chosen]
                for column in columns:
                    _add(end[row], column, 1)
                if min(end[row], default=0) >= 0 and (self._thorough or not _in_vain(end[row], columns)):
                    yield from self._going(rows, at + 1, cost + size, end, [*going, *chosen])
                for column in columns:
                    _add(end[row], column, -1)

    def _settle(self, going: list[int], end: list[list[int]]) -> dict[int, int] | None:
        """A row for each of those that make way, if there is one for all."""
        movables = self._problem.movables
        now = [list(amounts) for amounts in self._now]
        left = [list(amounts) for amounts in end]
        largest = sorted(going, key=lambda one: -sum(self._kinds[movables.kinds[one]]))
        moves: dict[int, int] = {}

        def settle(at: int) -> bool:
            self._step()
            if at == len(largest):
                return True
            movable = largest[at]
            kind = movables.kinds[movable]
            column = self._kinds[kind]
            for row in np.flatnonzero(movables.allowed[kind]).tolist():
                if row == movables.rows[movable]:
                    continue
                if all(not c or (n >= c and e >= c) for n, e, c in zip(now[row], left[row], column, strict=True)):
                    _add(now[row], column, -1)
                    _add(left[row], column, -1)
                    moves[movable] = row
                    if settle(at + 1):
                        return True
                    del moves[movable]
                    _add(now[row], column, 1)
                    _add(left[row], column, 1)
            return False

        return moves if settle(0) else None

    def _plan(self, placed: list[tuple[int, int, int]], moves: dict[int, int]) -> Plan:
        places: list[tuple[int, ...] | None] = [None] * len(self._problem.gangs)
        for at in self._chosen:
            rows = list(self._problem.gangs[at].rows)
            for gang, task, row in placed:
                if gang == at:
                    rows[task] = row
            places[at] = tuple(rows)
        return Plan(places, dict(moves))


def _in_vain(end: list[int], columns: list[Amounts]) -> bool:
    """Would there be room without one of those that went?"""
    return any(all(amount >= each for amount, each in zip(end, column, strict=True)) for column in columns)


def _add(amounts: list[int], column: Amounts, times: int) -> None:
    for k, amount in enumerate(column):
        if amount:
            amounts[k] += times * amount
