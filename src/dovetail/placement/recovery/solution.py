"""Turns the solver's numbers into a plan: which task goes to which row.

Guarantees: a returned plan was checked against the problem, to the unit. None if it is not feasible: solvers compute
with fractions.
"""

import numpy as np
import numpy.typing as npt

from dovetail.placement.recovery.integer_program import GroupVariables, Program
from dovetail.placement.recovery.problem import LOST, BrokenGang, RecoveryPlan, is_feasible


def read(program: Program, values: npt.NDArray[np.intp]) -> RecoveryPlan | None:
    problem = program.problem
    plan = RecoveryPlan([None] * len(problem.gangs))
    for at in program.chosen:
        if values[program.whole[at]]:
            places = _places(problem.gangs[at], program.groups[at], values)
            if places is None:
                return None
            plan.places[at] = places
    plan.moves = _moves(program, values)
    return plan if is_feasible(problem, plan) else None


def _places(gang: BrokenGang, groups: list[GroupVariables], values: npt.NDArray[np.intp]) -> tuple[int, ...] | None:
    rows = list(gang.rows)
    for group in groups:
        domains = [code for code, in_domain in group.in_domain.items() if values[in_domain]]
        if len(domains) != 1:
            return None
        wanting = [m for m in group.own if gang.rows[m] == LOST or group.codes[gang.rows[m]] != domains[0]]
        found = [row for row in sorted(group.placed) for _ in range(int(values[group.placed[row]]))]
        if len(found) != len(wanting):
            return None
        for member, row in zip(wanting, found, strict=True):
            rows[member] = row
    return tuple(rows)


def _moves(program: Program, values: npt.NDArray[np.intp]) -> dict[int, int]:
    """Of equal tasks on a row the least costly move first. A leaving and an entering task of one kind cancel out."""
    movables = program.problem.movables
    moves: dict[int, int] = {}
    for kind in range(len(movables.columns)):
        here = {row: int(values[goes]) for (which, row), goes in program.leave.items() if which == kind}
        there = {row: int(values[comes]) for (which, row), comes in program.come.items() if which == kind}
        leaving, coming = [], []
        for row in sorted({*here, *there}):
            both = min(here.get(row, 0), there.get(row, 0))
            alike = np.flatnonzero((movables.kinds == kind) & (movables.rows == row)).tolist()
            leaving += alike[: here.get(row, 0) - both]
            coming += [row] * (there.get(row, 0) - both)
        moves |= dict(zip(leaving, coming, strict=False))
    return dict(sorted(moves.items()))
