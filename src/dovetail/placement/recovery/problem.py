"""What recovery looks at: gangs that lost tasks, who could make way, and the room there is; and what it answers.

A gang is *whole* again when each of its tasks has a node and each of its groups lies in one domain. A task that lies
where its group will be stays there; one that does not is moved with the group. Others may be moved out of the way, each
to room that is free at this moment. What counts is the number of tasks moved that were not lost.
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
    """Tasks, by their place in the gang, that must lie in one domain; `codes` is intp[node]."""

    codes: Codes
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BrokenGang:
    """A gang that lost tasks. `rows`: of each task, LOST where it has none. `groups`: wide ones first; of two groups
    one holds the other or they have nothing in common, and so it is with their domains. `allowed` is bool[node]: what
    every filter but room leaves. `alone`: no two of its tasks on one node. `nearness`: codes by level, to be near."""

    column: F8
    allowed: B1
    rows: tuple[int, ...]
    groups: tuple[RecoveryGroup, ...] = ()
    alone: bool = False
    nearness: tuple[Codes, ...] = ()


@dataclass(frozen=True, slots=True)
class Movables:
    """Tasks that could be moved, those that had rather be moved first. By task its row and its kind; by kind what it
    takes, float64[kind, resource], and where it may be, bool[kind, node]."""

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
    """`now` is float64[resource, node]: free at this moment, for those that make way. `soon`: what gangs may have:
    that, spare nodes, and what is being stopped already. No amount is below 0. `spare` is bool[node]. `gangs`: the most
    urgent first."""

    now: F8
    soon: F8
    gangs: Sequence[BrokenGang]
    movables: Movables
    spare: B1


@dataclass(slots=True)
class RecoveryPlan:
    """`places`: by gang the row of each task, or None where it cannot be whole; `moves`: by movable its new row;
    `for_gang`: by gang how many moves were made for it, where that is known."""

    places: list[tuple[int, ...] | None] = field(default_factory=list)
    moves: dict[int, int] = field(default_factory=dict)
    for_gang: dict[int, int] = field(default_factory=dict)
    exact: bool = False

    def own(self, gangs: Sequence[BrokenGang]) -> int:
        """Tasks of the gangs themselves that move though they were not lost."""
        return sum(
            before not in (LOST, after)
            for gang, places in zip(gangs, self.places, strict=True)
            if places is not None
            for before, after in zip(gang.rows, places, strict=True)
        )

    def cost(self, gangs: Sequence[BrokenGang]) -> int:
        return self.own(gangs) + len(self.moves)


def is_feasible(problem: RecoveryProblem, plan: RecoveryPlan) -> bool:
    """Does everybody have room, to the unit? Domains are not looked at."""
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
