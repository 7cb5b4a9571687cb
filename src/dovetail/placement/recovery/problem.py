"""Input and output of the recovery search: broken gangs, movable tasks, free capacity; and the plan.

A gang is complete when each of its tasks has a node and each of its groups is in one domain. A task stays if it is in
the domain of its group, and moves otherwise. Movable tasks of other work may make way, each to capacity that is free
now. The cost of a plan is the number of surviving tasks that it moves.
"""

from collections.abc import Sequence
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
    movables = problem.movables
    for movable, row in plan.moves.items():
        column = movables.columns[movables.kinds[movable]]
        now[:, row] -= column
        end[:, row] -= column
        end[:, movables.rows[movable]] += column
    touched = list(plan.moves.values())
    for gang, places in zip(problem.gangs, plan.places, strict=True):
        for before, after in zip(gang.rows, places or gang.rows, strict=True):
            if before != after:
                end[:, after] -= gang.column
                touched.append(after)
                if before != LOST:
                    end[:, before] += gang.column
    return not ((now[:, touched] < 0).any() or (end[:, touched] < 0).any())
