"""Greedy recovery: one gang after the other, trying each domain that could hold it. Works for any size.

Guarantees: the result is feasible: every group is in one domain, no row is overcommitted, and every moved task goes to
capacity that is free now. It may not be optimal; `optimum` improves it.
"""

from copy import copy
from itertools import combinations

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.placement.recovery.problem import (
    LOST,
    Branch,
    BrokenGang,
    RecoveryPlan,
    RecoveryProblem,
    domains,
    needing_nodes,
    tree,
)
from dovetail.placement.recovery.proximity import preference


class SearchState:
    """What is left on each row, and the moves so far. A moved task goes to capacity that was free at the start and that
    no other task of the plan uses. `copy` is cheap enough to try one domain after the other."""

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


#: Sets of tasks on one node that are compared; if there are more, the largest tasks are moved.
_MOST_SETS = 300
#: Domains in which moving tasks away is tried for one group.
_MOST_DOMAINS = 12
#: Nodes on which moving tasks away is tried at a time.
_MOST_NODES = 12
#: Nodes that are cleared for one gang; a gang that needs more should restart elsewhere.
_MOST_CLEARED = 32

Attempt = tuple[SearchState, dict[int, int]]


class GreedyRecovery:
    """Completes one gang on the capacity that the gangs before it left."""

    def __init__(self, problem: RecoveryProblem, gang: BrokenGang, state: SearchState) -> None:
        self._problem, self._gang, self._start = problem, gang, state
        self._cleared = 0
        movables = problem.movables
        self._by_row: dict[int, list[int]] = {}
        for movable, row in enumerate(movables.rows.tolist()):
            if movable not in state.moves:
                self._by_row.setdefault(row, []).append(movable)
        self._movable_capacity = np.zeros_like(problem.now)  # float64[resource, node]: what all movable tasks hold
        for row, here in self._by_row.items():
            self._movable_capacity[:, row] = movables.columns[movables.kinds[here]].sum(axis=0)

    def run(self) -> tuple[SearchState, tuple[int, ...]] | None:
        region = np.ones(len(self._gang.allowed), dtype=np.bool_)
        state = self._start.copy()
        state.own_rows = frozenset()
        found = self._branch(tree(self._gang), region, state, None)
        if found is None:
            return None
        state, placed = found
        rows = self._gang.rows
        return state, tuple(placed.get(task, rows[task]) for task in range(len(rows)))

    # --- domains ---------------------------------------------------------------------------------------------

    def _branch(self, branch: Branch, region: B1, state: SearchState, below: int | None) -> Attempt | None:
        """The result in the cheapest domain for a group; None if none costs less than `below`."""
        best: Attempt | None = None
        tried = 0
        for domain in domains(self._gang, branch, region):
            moved = [m for m in branch.group.members if self._gang.rows[m] != LOST and not domain[self._gang.rows[m]]]
            least = state.cost + len(moved)
            if below is not None and least >= below:
                break  # later domains hold no more of its tasks
            if tried >= _MOST_DOMAINS and best is not None:
                break
            if not self._could_hold(branch, domain, state):
                continue
            tried += 1
            found = self._in_domain(branch, domain, state.copy(), below)
            if found is not None and (below is None or found[0].cost < below):
                best, below = found, found[0].cost
        return best

    def _could_hold(self, branch: Branch, domain: B1, state: SearchState) -> bool:
        gang = self._gang
        wanting, _ = needing_nodes(gang, branch.group.members, domain)
        if not wanting:
            return True
        rows = np.flatnonzero(domain & gang.allowed)
        needed = np.flatnonzero(gang.column > 0)
        most = state.end[np.ix_(needed, rows)] + self._movable_capacity[np.ix_(needed, rows)]
        copies = np.maximum(np.floor(most / gang.column[needed, None]).min(axis=0, initial=len(wanting)), 0.0)
        # Its own tasks that move within the domain also free capacity there.
        return bool(copies.sum() + len([m for m in wanting if gang.rows[m] != LOST]) >= len(wanting))

    def _in_domain(self, branch: Branch, domain: B1, state: SearchState, below: int | None) -> Attempt | None:
        gang = self._gang
        placed: dict[int, int] = {}
        # Child groups that are complete in this domain come first: they stay, at no cost.
        for child in sorted(branch.children, key=lambda one: len(needing_nodes(gang, one.group.members, domain)[0])):
            found = self._branch(child, domain, state, below)
            if found is None:
                return None
            state, more = found
            placed |= more
        wanting, moved = needing_nodes(gang, branch.own, domain)
        for member in moved:
            state.end[:, gang.rows[member]] += gang.column
        state.own += len(moved)
        if below is not None and state.cost >= below:
            return None
        rows = self._fill(len(wanting), domain & gang.allowed, state, below)
        if rows is None:
            return None
        return state, placed | dict(zip(wanting, rows, strict=True))

    # --- rows ------------------------------------------------------------------------------------------------

    def _fill(self, count: int, among: B1, state: SearchState, below: int | None) -> list[int] | None:
        """Rows for `count` tasks: free capacity first, then capacity that movable tasks leave."""
        gang = self._gang
        rows: list[int] = []
        kept = np.array([row for row in (*gang.rows, *state.own_rows) if row != LOST], dtype=np.intp)
        if gang.alone:
            among = among.copy()
            among[kept] = False
        order = preference(self._problem, gang, kept)
        while len(rows) < count:
            copies = state.room(gang.column, among)
            if gang.alone:
                copies = np.minimum(copies, 1.0)
            free = np.flatnonzero(copies)
            if not len(free):
                if below is not None and state.cost + 1 >= below:
                    return None
                self._cleared += 1
                if self._cleared > _MOST_CLEARED or not self._clear_node(among, state, count - len(rows)):
                    return None
                continue
            # Of equally preferred nodes the smallest first: large ones stay empty.
            for row in free[np.lexsort((copies[free], order[free]))].tolist():
                taken = min(int(copies[row]), count - len(rows))
                rows += [row] * taken
                state.end[:, row] -= taken * gang.column
                if gang.alone:
                    among[row] = False
                if len(rows) == count:
                    break
        state.own_rows |= set(rows)
        return rows

    def _clear_node(self, among: B1, state: SearchState, wanted: int) -> bool:
        """Move tasks away from the node with the fewest moves for each task that then fits."""
        gang, movables = self._gang, self._problem.movables
        best: tuple[float, Rows] | None = None
        for tried, (least, row) in enumerate(self._clearable_rows(among, state)):
            if best is not None and (least / wanted >= best[0] or tried >= _MOST_NODES):
                break
            here = [one for one in self._by_row[row] if one not in state.moves]
            columns = movables.columns[movables.kinds[here]]
            for chosen in _sufficient_sets(columns, gang.column - state.end[:, row], least):
                goes = np.array([here[at] for at in chosen], dtype=np.intp)
                trial = state.copy()
                if trial.clear(goes):
                    gained = 1 if gang.alone else int(trial.room(gang.column, np.arange(len(among)) == row)[row])
                    price = len(goes) / max(1, min(gained, wanted))
                    if best is None or price < best[0]:
                        best = price, goes
                    break
        return best is not None and state.clear(best[1])

    def _clearable_rows(self, among: B1, state: SearchState) -> list[tuple[int, int]]:
        """(lower bound of moves, row) for rows where a task would fit after moves, best first."""
        gang, movables = self._gang, self._problem.movables
        needed = np.flatnonzero(gang.column > 0)
        found = []
        for row in [row for row in self._by_row if among[row]]:
            here = [one for one in self._by_row[row] if one not in state.moves]
            if not here:
                continue
            short = gang.column[needed] - state.end[needed, row]
            sizes = np.sort(movables.columns[movables.kinds[here]][:, needed], axis=0)[::-1].cumsum(axis=0)
            if (sizes[-1] < short).any():
                continue
            found.append((max(1, int((sizes < short).sum(axis=0).max()) + 1), row))
        return sorted(found)


def _sufficient_sets(columns: F8, short: F8, least: int) -> list[tuple[int, ...]]:
    """Sets of indices whose tasks free enough: those of the smallest size first, at most 8."""
    found: list[tuple[int, ...]] = []
    for size in range(least, len(columns) + 1):
        sets = 0
        for chosen in combinations(range(len(columns)), size):
            sets += 1
            if sets > _MOST_SETS:
                break
            if (columns[list(chosen)].sum(axis=0) >= short).all():
                found.append(chosen)
                if len(found) >= 8:
                    return found
        if sets > _MOST_SETS and not found:
            order = np.argsort(-(columns / np.maximum(short, 1.0)).sum(axis=1), kind="stable")
            for more in range(size, len(columns) + 1):
                if (columns[order[:more]].sum(axis=0) >= short).all():
                    return [tuple(sorted(order[:more].tolist()))]
            return []
    return found


def recover_in_order(problem: RecoveryProblem, order: list[int]) -> RecoveryPlan:
    """Complete the gangs in this order, as far as possible."""
    state = SearchState(problem)
    plan = RecoveryPlan([None] * len(problem.gangs))
    for at in order:
        found = GreedyRecovery(problem, problem.gangs[at], state).run()
        if found is not None:
            plan.for_gang[at] = found[0].cost - state.cost
            state, plan.places[at] = found
    plan.moves = dict(state.moves)
    return plan
