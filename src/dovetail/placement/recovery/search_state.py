"""The state of the greedy search: what is left on each row, and the moves so far.

Guarantees: a moved task goes to capacity that was free at the start and that no other task of the plan uses; no row is
overcommitted in the end. `copy` is cheap enough to try one domain after the other.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.placement.recovery.problem import RecoveryProblem


class SearchState:
    def __init__(self, problem: RecoveryProblem) -> None:
        self._problem = problem
        self.now = problem.now.copy()  # float64[resource, node]: still available to movable tasks
        self.end = problem.soon.copy()  # float64[resource, node]: left when all moves are done
        self.moves: dict[int, int] = {}
        self.own = 0  # surviving tasks of the gangs that move
        self.own_rows: frozenset[int] = frozenset()  # rows given to the current gang so far
        self._destinations_by_kind: dict[
            int, Rows
        ] = {}  # by kind: rows that fit one task at the start; they never grow

    def copy(self) -> "SearchState":
        found = object.__new__(SearchState)
        found._problem = self._problem
        found.now, found.end = self.now.copy(), self.end.copy()
        found.moves, found.own, found.own_rows = dict(self.moves), self.own, self.own_rows
        found._destinations_by_kind = self._destinations_by_kind
        return found

    @property
    def cost(self) -> int:
        return self.own + len(self.moves)

    def put(self, column: F8, row: int) -> None:
        self.end[:, row] -= column

    def leave(self, column: F8, row: int) -> None:
        """A gang's own task leaves: gangs may use what it had."""
        self.end[:, row] += column

    def room(self, column: F8, rows: B1) -> F8:
        """float64[node]: how many times a column fits each of the rows; 0 elsewhere."""
        found = np.zeros(len(rows))
        needed = np.flatnonzero(column > 0)
        at = np.flatnonzero(rows)
        if len(needed) and len(at):
            found[at] = np.floor(self.end[np.ix_(needed, at)] / column[needed, None]).min(axis=0)
        return np.maximum(found, 0.0)

    def clear(self, movables: Rows) -> bool:
        """Move these tasks to the rows they fit most tightly, the largest first. If one does not fit anywhere, nothing
        is moved and the result is False."""
        problem = self._problem.movables
        before = dict(self.moves)
        columns = problem.columns[problem.kinds[movables]]
        for movable in movables[np.argsort(-columns.sum(axis=1), kind="stable")].tolist():
            row = self._destination(movable)
            if row is None:
                self._undo(before)
                return False
            self.move(movable, row)
        return True

    def move(self, movable: int, row: int) -> None:
        problem = self._problem.movables
        column = problem.columns[problem.kinds[movable]]
        self.moves[movable] = row
        self.now[:, row] -= column
        self.end[:, row] -= column
        self.end[:, problem.rows[movable]] += column

    def _destination(self, movable: int) -> int | None:
        problem = self._problem.movables
        kind = int(problem.kinds[movable])
        column = problem.columns[kind]
        needed = np.flatnonzero(column > 0)
        if kind not in self._destinations_by_kind:
            roomy = (self._problem.now[needed] >= column[needed, None]).all(axis=0)
            self._destinations_by_kind[kind] = np.flatnonzero(problem.allowed[kind] & roomy)
        at = self._destinations_by_kind[kind]
        at = at[at != problem.rows[movable]]
        room = np.minimum(self.now[needed[:, None], at], self.end[needed[:, None], at])
        fits = (room >= column[needed, None]).all(axis=0)
        if not fits.any():
            return None
        left = (room[:, fits] / column[needed, None]).sum(axis=0)
        return int(at[fits][left.argmin()])

    def _undo(self, before: dict[int, int]) -> None:
        problem = self._problem.movables
        for movable in [one for one in self.moves if one not in before]:
            row, column = self.moves.pop(movable), problem.columns[problem.kinds[movable]]
            self.now[:, row] += column
            self.end[:, row] += column
            self.end[:, problem.rows[movable]] -= column
