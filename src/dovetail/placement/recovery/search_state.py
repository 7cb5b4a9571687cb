"""The state of the greedy search: what is left on each row, and the moves so far.

Guarantees: a moved task goes to capacity that was free at the start and that no other task of the plan uses; no row is
overcommitted in the end. `copy` is cheap enough to try one domain after the other.
"""

from copy import copy

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.placement.recovery.problem import RecoveryProblem


class SearchState:
    def __init__(self, problem: RecoveryProblem) -> None:
        self._problem, self._movables = problem, problem.movables
        self.now = problem.now.copy()  # float64[resource, node]: still available to movable tasks
        self.end = problem.soon.copy()  # float64[resource, node]: left when all moves are done
        self.moves: dict[int, int] = {}
        self.own = 0  # surviving tasks of the gangs that move
        self.own_rows: frozenset[int] = frozenset()  # rows given to the current gang so far
        self._destinations_by_kind: dict[int, Rows] = {}  # rows that fit one task at the start; they never grow

    def copy(self) -> "SearchState":
        found = copy(self)
        found.now, found.end, found.moves = self.now.copy(), self.end.copy(), dict(self.moves)
        return found

    @property
    def cost(self) -> int:
        return self.own + len(self.moves)

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
        before = dict(self.moves)
        columns = self._movables.columns[self._movables.kinds[movables]]
        for movable in movables[np.argsort(-columns.sum(axis=1), kind="stable")].tolist():
            row = self._destination(movable)
            if row is None:
                for undone in [one for one in self.moves if one not in before]:
                    self._movables.move(undone, self.moves.pop(undone), self.now, self.end, sign=-1)
                return False
            self.moves[movable] = row
            self._movables.move(movable, row, self.now, self.end)
        return True

    def _destination(self, movable: int) -> int | None:
        kind = int(self._movables.kinds[movable])
        column = self._movables.columns[kind]
        needed = np.flatnonzero(column > 0)
        if kind not in self._destinations_by_kind:
            roomy = (self._problem.now[needed] >= column[needed, None]).all(axis=0)
            self._destinations_by_kind[kind] = np.flatnonzero(self._movables.allowed[kind] & roomy)
        at = self._destinations_by_kind[kind]
        at = at[at != self._movables.rows[movable]]
        room = np.minimum(self.now[needed[:, None], at], self.end[needed[:, None], at])
        fits = (room >= column[needed, None]).all(axis=0)
        if not fits.any():
            return None
        left = (room[:, fits] / column[needed, None]).sum(axis=0)
        return int(at[fits][left.argmin()])
