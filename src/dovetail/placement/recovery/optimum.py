"""Optimal recovery by an integer program: first which gangs can be completed, then with the fewest moves.

Guarantees: deterministic, since the effort is limited in branches, not seconds; a returned plan is feasible to the
unit; `proved` is set only if no better plan exists. A program that is too large or needs too many branches gives no
plan, so `greedy` provides the first one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8
from dovetail.placement.recovery.integer_program import GroupVariables, Program
from dovetail.placement.recovery.problem import LOST, BrokenGang, RecoveryPlan, RecoveryProblem, is_feasible

#: The size limit of a program, and the branches after which the solver stops.
MOST_VARIABLES, MOST_BRANCHES = 4_000, 8
_OPTIMAL, _INFEASIBLE = 0, 2  # scipy's status codes


class SolverResult(NamedTuple):
    plan: RecoveryPlan | None
    proved: bool


def fewest_moves(problem: RecoveryProblem, chosen: Sequence[int], most: int | None) -> SolverResult:
    """Complete all chosen gangs with the fewest moves. `most`: the maximum number of moves."""
    program = Program(problem, chosen, True, most)
    bound = most if most is not None else len(problem.movables) + sum(len(gang.rows) for gang in problem.gangs)
    # Moves are whole numbers: a gap of half a move is exact.
    found = _solve(program, np.array(program.cost), 0.5 / (bound + 1))
    # A plan with more than `most` moves may lack variables that it needs.
    over_limit = found.plan is not None and most is not None and found.plan.cost(problem.gangs) > most
    return SolverResult(None, found.proved) if over_limit else found


def recoverable_gangs(problem: RecoveryProblem) -> SolverResult:
    """Which gangs can be completed together. Each gang weighs more than all less urgent ones, so this is for few
    gangs."""
    gangs = range(len(problem.gangs))
    program = Program(problem, gangs, False, None)
    costs = np.zeros(len(program.cost))
    for weight, at in enumerate(reversed(gangs)):
        costs[program.whole[at]] = -(2.0**weight)
    return _solve(program, costs, 0.0)


def warm_up() -> None:
    """Import the solver now, not when the first node is lost."""
    import scipy.optimize  # noqa: F401


def _solve(program: Program, costs: F8, gap: float) -> SolverResult:
    if not program.sums or len(costs) > MOST_VARIABLES:
        return SolverResult(None, False)
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = [row for row, (terms, _, _) in enumerate(program.sums) for _ in terms]
    columns = [variable for terms, _, _ in program.sums for variable, _ in terms]
    values = [each for terms, _, _ in program.sums for _, each in terms]
    matrix = csr_array((values, (rows, columns)), shape=(len(program.sums), len(costs)))
    between = LinearConstraint(matrix, [low for _, low, _ in program.sums], [high for _, _, high in program.sums])
    found = milp(
        costs,
        integrality=np.ones(len(costs), dtype=np.intp),
        bounds=Bounds(np.array(program.lower), np.array(program.upper)),
        constraints=between,
        options={"node_limit": MOST_BRANCHES, "mip_rel_gap": gap},
    )
    if found.x is None:
        return SolverResult(None, found.status == _INFEASIBLE)
    plan = read(program, np.rint(found.x).astype(np.intp))
    return SolverResult(plan, found.status == _OPTIMAL and plan is not None)


def read(program: Program, values: npt.NDArray[np.intp]) -> RecoveryPlan | None:
    """Which task goes to which row, by the solver's numbers; None if that is not feasible to the unit: solvers compute
    with fractions."""
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
