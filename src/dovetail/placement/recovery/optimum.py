"""The best answer there is, by an integer program: first which gangs can be whole, then with the fewest moves.

Guarantees: deterministic, since effort is counted in branches and not in seconds; an answer holds to the unit, or it is
not given; `sure` only where it is proved that there is none better. Left to others: an answer to begin with (`greedy`),
since a program that is too large or takes too many branches gives none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.placement.recovery.integer_program import Program
from dovetail.placement.recovery.problem import RecoveryPlan, RecoveryProblem
from dovetail.placement.recovery.solution import read

#: Variables of a program that is still worth solving, and branches after which it is left as it is.
MOST_VARIABLES, MOST_BRANCHES = 4_000, 8
_OPTIMAL, _INFEASIBLE = 0, 2  # as scipy numbers them


class SolverResult(NamedTuple):
    plan: RecoveryPlan | None
    proved: bool


def fewest_moves(problem: RecoveryProblem, chosen: Sequence[int], most: int | None) -> SolverResult:
    """All the gangs chosen whole with as few moves as can be; `most`: only answers with at most so many."""
    program = Program(problem, chosen, True, most)
    bound = most if most is not None else len(problem.movables) + sum(len(gang.rows) for gang in problem.gangs)
    # Moves are whole numbers: half a move apart is as close as can be.
    found = _solve(program, np.array(program.cost), 0.5 / (bound + 1))
    # Where the best has more than that, some of what it needs may have been left out.
    over_limit = found.plan is not None and most is not None and found.plan.cost(problem.gangs) > most
    return SolverResult(None, found.proved) if over_limit else found


def recoverable_gangs(problem: RecoveryProblem) -> SolverResult:
    """Which gangs can be whole: one is given up only if it cannot be beside those before it. For a few gangs: each
    counts for more than all that are less urgent."""
    gangs = range(len(problem.gangs))
    program = Program(problem, gangs, False, None)
    costs = np.zeros(len(program.cost))
    for weight, at in enumerate(reversed(gangs)):
        costs[program.whole[at]] = -(2.0**weight)
    return _solve(program, costs, 0.0)


def warm_up() -> None:
    """Load the solver now rather than when the first node is lost; for servers."""
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
