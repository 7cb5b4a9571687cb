"""Recovery as an integer program. Variables: the domain of each group, how many tasks of a gang each row gets, and how
many movable tasks of each kind leave or enter a row.

Tasks of one kind are counted, not named: a thousand movable tasks of five kinds are five numbers for each row. Only
rows that a gang could use are worth leaving, since a moved task needs capacity that is free now.
Guarantees: the program contains every plan; with `most`, every plan with at most that many moves. The amounts of a row
are divided by their greatest common divisor and rounded down: exact for whole tasks, and bytes and cores get the same
magnitude. Left to others: solving, and naming the tasks (`optimum`).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd, inf

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.placement.recovery.problem import LOST, Branch, BrokenGang, Codes, RecoveryProblem, tree

#: (variable, factor) terms of a sum.
Terms = list[tuple[int, float]]


@dataclass(slots=True)
class GroupVariables:
    """The variables of one group. `codes`: its domains, distinguished by the domains around them. `in_domain`: by code,
    1 if the group is there. `placed`: by row, how many of its own tasks (in no child group) go there."""

    own: tuple[int, ...]
    codes: Codes
    in_domain: dict[int, int] = field(default_factory=dict)
    placed: dict[int, int] = field(default_factory=dict)


class Program:
    def __init__(self, problem: RecoveryProblem, chosen: Sequence[int], required: bool, most: int | None) -> None:
        """`chosen`: the gangs of the program. `required`: all must be completed; otherwise each may be left out."""
        self.problem, self.chosen, self._max_moves = problem, chosen, most
        self.upper: list[float] = []
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.sums: list[tuple[Terms, float, float]] = []
        self.groups: dict[int, list[GroupVariables]] = {}
        self.whole: dict[int, int] = {}  # by gang: 1 if it is completed
        self.leave: dict[tuple[int, int], int] = {}  # by kind and row
        self.come: dict[tuple[int, int], int] = {}
        self._kinds = np.zeros((len(problem.movables.columns), problem.now.shape[1]), dtype=np.intp)
        np.add.at(self._kinds, (problem.movables.kinds, problem.movables.rows), 1)
        self._movable_capacity: F8 = problem.movables.columns.T @ self._kinds  # float64[resource, node]
        self._largest = _largest(problem.movables.columns, self._kinds)
        self._ends: dict[int, list[tuple[F8, int, float]]] = defaultdict(list)  # by row: column, variable, times
        for at in chosen:
            self.whole[at] = self._variable(1.0, lower=1.0 if required else 0.0)
            self.groups[at] = []
        self._free = self._max_free()
        for at in chosen:
            self._add_gang(at)
        self._add_movables()
        self._add_capacity()

    def _variable(self, upper: float, cost: float = 0.0, lower: float = 0.0) -> int:
        self.upper.append(upper)
        self.lower.append(lower)
        self.cost.append(cost)
        return len(self.upper) - 1

    def _max_free(self) -> F8:
        """float64[resource, node]: what would be free if all movable tasks and the gangs themselves left."""
        found: F8 = self.problem.soon + self._movable_capacity
        for at in self.chosen:
            gang = self.problem.gangs[at]
            for row in gang.rows:
                if row != LOST:
                    found[:, row] += gang.column
        return found

    # --- gangs -----------------------------------------------------------------------------------------------

    def _add_gang(self, at: int) -> None:
        gang = self.problem.gangs[at]
        needed = np.flatnonzero(gang.column > 0)
        copies = np.floor(self._free[needed] / gang.column[needed, None]).min(axis=0, initial=len(gang.rows))
        copies = np.where(gang.allowed, np.clip(copies, 0, 1 if gang.alone else len(gang.rows)), 0)
        if self._max_moves is not None:
            copies[self._min_moves(gang.column, needed) > self._max_moves] = 0
        everywhere = np.zeros(len(gang.allowed), dtype=np.intp)
        self._add_group(at, gang, tree(gang), everywhere, {0: self.whole[at]}, copies)
        if gang.alone:
            self._add_exclusive(at, gang)

    def _min_moves(self, column: F8, needed: Rows) -> F8:
        """float64[node]: a lower bound of the moves before a row fits one task."""
        short = column[needed, None] - (self._free - self._movable_capacity)[needed]
        largest = self._largest[needed]
        found: F8 = np.where(short > 0, np.ceil(short / np.maximum(largest, 1.0)), 0.0).max(axis=0, initial=0.0)
        return found

    def _add_group(
        self, at: int, gang: BrokenGang, branch: Branch, around: Codes, outer: dict[int, int], copies: F8
    ) -> None:
        """`outer`: by code of `around`, the variable that is 1 if the parent group is there."""
        codes = _inside(around, branch.group.codes)
        group = GroupVariables(branch.own, codes)
        self.groups[at].append(group)
        members = branch.group.members
        here = np.bincount(codes[gang.kept(members)], minlength=int(codes.max()) + 1)
        room = np.bincount(codes, copies)
        parts: dict[int, Terms] = {code: [] for code in outer}
        first = {int(code): int(around[row]) for row, code in reversed(list(enumerate(codes.tolist())))}
        for code, home in first.items():
            wanting = len(members) - int(here[code])
            moved = wanting - sum(gang.rows[member] == LOST for member in members)
            if home not in outer or room[code] < wanting or (self._max_moves is not None and moved > self._max_moves):
                continue
            in_domain = group.in_domain[code] = self._variable(1.0)
            parts[home].append((in_domain, 1.0))
        for home, terms in parts.items():
            self.sums.append(([*terms, (outer[home], -1.0)], 0.0, 0.0))
        self._add_counts(gang, group, copies)
        for child in branch.children:
            self._add_group(at, gang, child, codes, group.in_domain, copies)
        self._add_releases(at, gang, group)

    def _add_counts(self, gang: BrokenGang, group: GroupVariables, copies: F8) -> None:
        if not group.own:
            return
        kept = group.codes[gang.kept(group.own)]
        lost = sum(gang.rows[member] == LOST for member in group.own)
        for code, in_domain in group.in_domain.items():
            moved = int((kept != code).sum())
            self.cost[in_domain] += moved
            wanting = lost + moved
            if not wanting:
                continue
            terms: Terms = [(in_domain, -float(wanting))]
            for row in np.flatnonzero((group.codes == code) & (copies > 0)).tolist():
                most = min(float(copies[row]), float(wanting))
                count = group.placed[row] = self._variable(most)
                terms.append((count, 1.0))
                self.sums.append(([(count, 1.0), (in_domain, -most)], -inf, 0.0))
                self._ends[row].append((gang.column, count, 1.0))
            self.sums.append((terms, 0.0, 0.0))

    def _add_releases(self, at: int, gang: BrokenGang, group: GroupVariables) -> None:
        """Surviving tasks release their nodes if the gang is completed with their group elsewhere."""
        for member in group.own:
            row = gang.rows[member]
            if row != LOST:
                self._ends[row].append((gang.column, self.whole[at], -1.0))
                in_domain = group.in_domain.get(int(group.codes[row]))
                if in_domain is not None:
                    self._ends[row].append((gang.column, in_domain, 1.0))

    def _add_exclusive(self, at: int, gang: BrokenGang) -> None:
        placed: dict[int, Terms] = defaultdict(list)
        for group in self.groups[at]:
            for row, count in group.placed.items():
                placed[row].append((count, 1.0))
        self.sums += [(terms, -inf, 1.0) for terms in placed.values()]
        for group in self.groups[at]:
            for member in group.own:
                row = gang.rows[member]
                in_domain = group.in_domain.get(int(group.codes[row])) if row != LOST else None
                if in_domain is not None and row in placed:
                    self.sums.append(([*placed[row], (in_domain, 1.0)], -inf, 1.0))

    # --- movable tasks ---------------------------------------------------------------------------------------

    def _add_movables(self) -> None:
        wanted = np.zeros(self.problem.now.shape[1], dtype=np.bool_)
        wanted[[row for groups in self.groups.values() for group in groups for row in group.placed]] = True
        movables = self.problem.movables
        for kind, column in enumerate(movables.columns):
            rows = np.flatnonzero(wanted & (self._kinds[kind] > 0)).tolist()
            if not rows:
                continue
            balance: Terms = []
            for row in rows:
                most = float(self._kinds[kind, row])
                goes = self.leave[kind, row] = self._variable(most, 1.0)
                balance.append((goes, 1.0))
                self._ends[row].append((column, goes, -1.0))
            for row in self._destinations(kind, column, wanted):
                comes = self.come[kind, row] = self._variable(inf)
                balance.append((comes, -1.0))
                self._ends[row].append((column, comes, 1.0))
            self.sums.append((balance, 0.0, 0.0))

    def _destinations(self, kind: int, column: F8, wanted: B1) -> list[int]:
        """Rows with enough free capacity now. Of those that no gang wants, as many as there can be moves are enough."""
        fits = self.problem.movables.allowed[kind] & (self.problem.now >= column[:, None]).all(axis=0)
        found = np.flatnonzero(fits & wanted).tolist()
        quiet = np.flatnonzero(fits & ~wanted)
        most = len(self.problem.movables) if self._max_moves is None else self._max_moves
        return [*found, *quiet[:most].tolist()]

    # --- capacity ------------------------------------------------------------------------------------------------

    def _add_capacity(self) -> None:
        arriving: dict[int, list[tuple[F8, int, float]]] = defaultdict(list)
        for (kind, row), comes in self.come.items():
            arriving[row].append((self.problem.movables.columns[kind], comes, 1.0))
        for row, terms in arriving.items():
            self._add_limit(terms, self.problem.now[:, row])
        for row, terms in self._ends.items():
            self._add_limit(terms, self.problem.soon[:, row])

    def _add_limit(self, terms: list[tuple[F8, int, float]], amounts: F8) -> None:
        for k, amount in enumerate(amounts.tolist()):
            sums: dict[int, int] = defaultdict(int)
            for column, variable, times in terms:
                if column[k]:
                    sums[variable] += int(times * column[k])
            sums = {variable: each for variable, each in sums.items() if each}
            if not sums or sum(each * self.upper[variable] for variable, each in sums.items() if each > 0) <= amount:
                continue
            unit = gcd(*sums.values())
            self.sums.append(([(v, each / unit) for v, each in sums.items()], -inf, float(amount // unit)))


def _largest(columns: F8, kinds: Codes) -> F8:
    """float64[resource, node]: the most that one movable task on the node would free."""
    found = np.zeros((columns.shape[1], kinds.shape[1]))
    for kind, column in enumerate(columns):
        found = np.maximum(found, np.where(kinds[kind] > 0, column[:, None], 0.0))
    return found


def _inside(around: Codes, codes: Codes) -> Codes:
    """Codes of the domains of a level, distinguished by the domains around them."""
    found: Codes = np.unique(around * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return found
