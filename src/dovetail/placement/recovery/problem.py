"""Input and output of the recovery search: broken gangs and their groups, movable tasks, free capacity; and the plan.

A gang is complete when each of its tasks has a node and each of its groups is in one domain. A task stays if it is in
the domain of its group, and moves otherwise. Movable tasks of other work may make way, each to capacity that is free
now. The cost of a plan is the number of surviving tasks that it moves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, Rows

#: The row of a task that has no node.
LOST = -1
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class RecoveryGroup:
    """Tasks, by index in the gang, that must be in one domain. `codes`: intp[node], the domain of each node."""

    codes: Codes
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BrokenGang:
    """A gang that lost tasks. `rows`: by task, LOST if it has none. `groups`: wide ones first; two groups are nested or
    disjoint, and so are their domains. `allowed`: bool[node], where all filters pass, capacity ignored. `alone`: no two
    of its tasks on one node. `nearness`: domain codes by level, for proximity."""

    column: F8
    allowed: B1
    rows: tuple[int, ...]
    groups: tuple[RecoveryGroup, ...] = ()
    alone: bool = False
    nearness: tuple[Codes, ...] = ()

    def kept(self, members: Iterable[int]) -> Rows:
        """The rows of those of its tasks that still have one."""
        return np.array([self.rows[member] for member in members if self.rows[member] != LOST], dtype=np.intp)

    def move(self, places: tuple[int, ...], end: F8) -> list[int]:
        """Let its tasks take these rows and leave those that they had. Returns the rows that are new."""
        found = []
        for before, after in zip(self.rows, places, strict=True):
            if before != after:
                found.append(after)
                end[:, after] -= self.column
                if before != LOST:
                    end[:, before] += self.column
        return found


@dataclass(frozen=True, slots=True)
class Movables:
    """Tasks that may be moved, the least costly first: `rows` and `kinds` by task. By kind: `columns`,
    float64[kind, resource], and `allowed`, bool[kind, node]."""

    rows: Rows
    kinds: Rows
    columns: F8
    allowed: B1

    def __len__(self) -> int:
        return len(self.rows)

    def move(self, movable: int, row: int, now: F8, end: F8, sign: int = 1) -> None:
        """Let a task take capacity that is free now, and leave its own in the end; with sign -1, take that back."""
        column = sign * self.columns[self.kinds[movable]]
        now[:, row] -= column
        end[:, row] -= column
        end[:, self.rows[movable]] += column


def no_movables(resources: int, nodes: int) -> Movables:
    none = np.zeros(0, dtype=np.intp)
    return Movables(none, none, np.zeros((0, resources)), np.zeros((0, nodes), dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class RecoveryProblem:
    """`now`: float64[resource, node], free now, for movable tasks. `soon`: the same plus spare nodes and what stopping
    tasks will free, for gangs. No amount is negative. `spare`: bool[node]. `gangs`: the most urgent first."""

    now: F8
    soon: F8
    gangs: Sequence[BrokenGang]
    movables: Movables
    spare: B1


@dataclass(slots=True)
class RecoveryPlan:
    """`places`: by gang the row of each task, None if it stays incomplete. `moves`: by movable task its new row.
    `for_gang`: by gang the number of moves made for it, if known. `exact`: proved to be optimal."""

    places: list[tuple[int, ...] | None] = field(default_factory=list)
    moves: dict[int, int] = field(default_factory=dict)
    for_gang: dict[int, int] = field(default_factory=dict)
    exact: bool = False

    def own(self, gangs: Sequence[BrokenGang]) -> int:
        """How many surviving tasks of the gangs move."""
        return sum(
            before not in (LOST, after)
            for gang, places in zip(gangs, self.places, strict=True)
            if places is not None
            for before, after in zip(gang.rows, places, strict=True)
        )

    def cost(self, gangs: Sequence[BrokenGang]) -> int:
        return self.own(gangs) + len(self.moves)


def is_feasible(problem: RecoveryProblem, plan: RecoveryPlan) -> bool:
    """Does every task fit, to the unit? Domains are not checked."""
    now, end = problem.now.copy(), problem.soon.copy()
    for movable, row in plan.moves.items():
        problem.movables.move(movable, row, now, end)
    touched = list(plan.moves.values())
    for gang, places in zip(problem.gangs, plan.places, strict=True):
        touched += gang.move(places or gang.rows, end)
    return not ((now[:, touched] < 0).any() or (end[:, touched] < 0).any())


@dataclass(slots=True)
class Branch:
    """A group and its child groups, which are placed inside its domain. `own`: its tasks that are in no child."""

    group: RecoveryGroup
    children: "list[Branch]"
    own: tuple[int, ...]


def tree(gang: BrokenGang) -> Branch:
    """The tree of groups under a root that contains all tasks and nodes."""
    everything = RecoveryGroup(np.zeros(len(gang.allowed), dtype=np.intp), tuple(range(len(gang.rows))))
    root = Branch(everything, [], ())
    for group in gang.groups:
        _insert(root, group)
    _set_own(root)
    return root


def _insert(branch: Branch, group: RecoveryGroup) -> None:
    members = set(group.members)
    for child in branch.children:
        if members <= set(child.group.members):
            _insert(child, group)
            return
    branch.children.append(Branch(group, [], ()))


def _set_own(branch: Branch) -> None:
    inside = {member for child in branch.children for member in child.group.members}
    branch.own = tuple(member for member in branch.group.members if member not in inside)
    for child in branch.children:
        _set_own(child)


def domains(gang: BrokenGang, branch: Branch, region: B1) -> list[B1]:
    """Candidate domains of a group within a region: most of its tasks first, then by row."""
    codes, kept = branch.group.codes, gang.kept(branch.group.members)
    usable = gang.allowed.copy()
    usable[kept] = True
    rows = np.flatnonzero(region & usable)
    if not len(rows):
        return []
    found, first = np.unique(codes[rows], return_index=True)
    inside = np.bincount(np.searchsorted(found, codes[kept])[np.isin(codes[kept], found)], minlength=len(found))
    order = np.lexsort((first, -inside))
    return [region & (codes == found[at]) for at in order.tolist()]


def needing_nodes(gang: BrokenGang, members: tuple[int, ...], region: B1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of these tasks, those that need a node in the region, and among them those that have one elsewhere."""
    wanting = tuple(m for m in members if gang.rows[m] == LOST or not region[gang.rows[m]])
    return wanting, tuple(m for m in wanting if gang.rows[m] != LOST)
