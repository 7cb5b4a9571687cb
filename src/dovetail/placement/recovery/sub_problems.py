"""Sub-problems: decide a few gangs again while a plan keeps the others.

Many failures break more gangs than can be optimised together. Guarantees: the sub-problem has only the capacity that
the other gangs leave, so its solution and the rest of the plan fit together. A move belongs to the other gangs if one
of them uses the row that was left, otherwise to the sub-problem.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.recovery.problem import LOST, Movables, RecoveryPlan, RecoveryProblem, is_feasible


@dataclass(frozen=True, slots=True)
class SubProblem:
    """`gangs`: their indices in the whole problem; `movables`: the index of each movable task in the whole problem;
    `fixed`: the moves of the other gangs; `plan`: the present plan of these gangs."""

    gangs: tuple[int, ...]
    problem: RecoveryProblem
    movables: tuple[int, ...]
    fixed: dict[int, int]
    plan: RecoveryPlan


def sub_problem(problem: RecoveryProblem, plan: RecoveryPlan, gangs: Sequence[int]) -> SubProblem:
    """`gangs`: indices, the most urgent first."""
    few = set(gangs)
    now, soon = problem.now.copy(), problem.soon.copy()
    taken: set[int] = set()
    for at, (gang, places) in enumerate(zip(problem.gangs, plan.places, strict=True)):
        if at not in few and places is not None:
            taken |= _apply(gang.column, gang.rows, places, soon)
    movables = problem.movables
    fixed = {one: row for one, row in plan.moves.items() if int(movables.rows[one]) in taken}
    for one, row in fixed.items():
        column = movables.columns[movables.kinds[one]]
        now[:, row] -= column
        soon[:, row] -= column
        soon[:, movables.rows[one]] += column
    still = [one for one in range(len(movables)) if one not in fixed]
    left = np.array(still, dtype=np.intp)
    rest = Movables(movables.rows[left], movables.kinds[left], movables.columns, movables.allowed)
    place = {one: number for number, one in enumerate(still)}
    moves = {place[one]: row for one, row in plan.moves.items() if one in place}
    chosen = [problem.gangs[at] for at in gangs]
    smaller = replace(problem, now=now, soon=soon, gangs=chosen, movables=rest)
    return SubProblem(
        tuple(gangs), smaller, tuple(still), fixed, RecoveryPlan([plan.places[at] for at in gangs], moves)
    )


def _apply(column: F8, rows: tuple[int, ...], places: tuple[int, ...], soon: F8) -> set[int]:
    """Move a gang to its new rows. Returns those that are new."""
    found: set[int] = set()
    for before, after in zip(rows, places, strict=True):
        if before != after:
            found.add(after)
            soon[:, after] -= column
            if before != LOST:
                soon[:, before] += column
    return found


def merge(plan: RecoveryPlan, part: SubProblem, found: RecoveryPlan) -> RecoveryPlan:
    """The plan with the solution of a sub-problem."""
    places = list(plan.places)
    for at, rows in zip(part.gangs, found.places, strict=True):
        places[at] = rows
    moves = part.fixed | {part.movables[one]: row for one, row in found.moves.items()}
    return RecoveryPlan(places, dict(sorted(moves.items())))


def most_urgent_only(problem: RecoveryProblem, plan: RecoveryPlan, count: int) -> RecoveryPlan | None:
    """The part of a plan for the first `count` gangs; None if it is not feasible without the rest."""
    places = [rows if at < count else None for at, rows in enumerate(plan.places)]
    taken: set[int] = set()
    for gang, rows in zip(problem.gangs, places, strict=True):
        taken |= {after for before, after in zip(gang.rows, rows or gang.rows, strict=True) if before != after}
    moves = {one: row for one, row in plan.moves.items() if int(problem.movables.rows[one]) in taken}
    found = RecoveryPlan(places, moves)
    return found if is_feasible(problem, found) else None
