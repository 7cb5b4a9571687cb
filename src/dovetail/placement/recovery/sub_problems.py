"""A few gangs of many, while the others stay as a plan has them: what is left to decide, and the plan that follows.

Storms break more gangs than can be weighed against each other at once. Guarantees: what is free in the smaller problem
is what the others leave; an answer to it and the plan for the others hold together. Someone who made way belongs to
the others if one of those comes to the row that was left, else to these few.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.recovery.problem import LOST, Movables, RecoveryPlan, RecoveryProblem, is_feasible


@dataclass(frozen=True, slots=True)
class SubProblem:
    """`gangs`: the few, by their place in the whole problem; `problem`: theirs; `movables`: by movable of it, which one
    of the whole it is; `fixed`: the moves of the others; `plan`: what was decided for these few so far."""

    gangs: tuple[int, ...]
    problem: RecoveryProblem
    movables: tuple[int, ...]
    fixed: dict[int, int]
    plan: RecoveryPlan


def sub_problem(problem: RecoveryProblem, plan: RecoveryPlan, gangs: Sequence[int]) -> SubProblem:
    """`gangs`: the most urgent first, as they are in the problem."""
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
    """Everybody of a gang where it will be; the rows that it comes to."""
    found: set[int] = set()
    for before, after in zip(rows, places, strict=True):
        if before != after:
            found.add(after)
            soon[:, after] -= column
            if before != LOST:
                soon[:, before] += column
    return found


def merge(plan: RecoveryPlan, part: SubProblem, found: RecoveryPlan) -> RecoveryPlan:
    """The plan, with what was found for the few in it."""
    places = list(plan.places)
    for at, rows in zip(part.gangs, found.places, strict=True):
        places[at] = rows
    moves = part.fixed | {part.movables[one]: row for one, row in found.moves.items()}
    return RecoveryPlan(places, dict(sorted(moves.items())))


def most_urgent_only(problem: RecoveryProblem, plan: RecoveryPlan, count: int) -> RecoveryPlan | None:
    """What of a plan is for the most urgent gangs; None if they need what the others would have left to them."""
    places = [rows if at < count else None for at, rows in enumerate(plan.places)]
    taken: set[int] = set()
    for gang, rows in zip(problem.gangs, places, strict=True):
        taken |= {after for before, after in zip(gang.rows, rows or gang.rows, strict=True) if before != after}
    moves = {one: row for one, row in plan.moves.items() if int(problem.movables.rows[one]) in taken}
    found = RecoveryPlan(places, moves)
    return found if is_feasible(problem, found) else None
