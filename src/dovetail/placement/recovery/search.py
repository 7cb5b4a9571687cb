"""Searches the smallest set of moves that completes broken gangs.

Gangs are ordered by urgency: one is left incomplete only if no plan completes it beside those before it. Among the
plans that complete the same gangs, the one with the fewest moves wins; among equal ones, the one that uses the fewest
spare nodes and stays closest to the gangs' remaining tasks.
`greedy` gives the first plan; without moves it is optimal. Otherwise an integer program (`optimum`) finds a better plan
or proves that there is none, for a few gangs at a time if many are broken.
Guarantees: pure and deterministic; `RecoveryPlan.exact` says whether the plan is proved optimal. Left to others: which
tasks may move, which nodes are allowed, and executing the plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.placement.recovery.greedy import recover_in_order
from dovetail.placement.recovery.optimum import fewest_moves, recoverable_gangs
from dovetail.placement.recovery.problem import Movables, RecoveryPlan, RecoveryProblem, is_feasible
from dovetail.placement.recovery.proximity import move_closer

#: Further orders of the gangs that `greedy` tries.
_TRIES = 2
#: Gangs that are optimised together, and how many such sub-problems.
_MAX_GANGS, _SUB_PROBLEMS = 6, 4


def recover(problem: RecoveryProblem) -> RecoveryPlan:
    """The rows of each gang's tasks, and the moves of other tasks."""
    best = _best_order(problem)
    if all(_restored(best)) and not best.cost(problem.gangs):
        return replace(best, exact=True)
    if len(problem.gangs) <= _MAX_GANGS:
        return _improve(problem, best)
    # Gangs with the worst result first, by urgency.
    order = sorted(range(len(problem.gangs)), key=lambda at: _result_rank(best, at))
    # Sub-problems overlap, so that capacity can pass from one to the next.
    for number in range(_SUB_PROBLEMS):
        start = number * _MAX_GANGS // 2 % len(order)
        part = sub_problem(problem, best, sorted([*order, *order][start : start + _MAX_GANGS]))
        better = merge(best, part, _improve(part.problem, part.plan))
        best = better if _is_better(problem, better, best) else best
    return best


def _improve(problem: RecoveryProblem, guess: RecoveryPlan) -> RecoveryPlan:
    best, proved, optimal = guess, True, False
    if not all(_restored(guess)):
        alone = len(problem.gangs) == 1
        found = fewest_moves(problem, [0], None) if alone else recoverable_gangs(problem)
        proved = found.proved
        if found.plan is not None and _is_better(problem, found.plan, best):
            best, optimal = found.plan, alone
    cost = best.cost(problem.gangs)
    if cost and not optimal:
        restored = [at for at, whole in enumerate(_restored(best)) if whole]
        found = fewest_moves(problem, restored, cost - 1)
        proved = proved and found.proved
        best = found.plan or best
    return replace(guess if best is guess else move_closer(problem, best), exact=proved)


def _best_order(problem: RecoveryProblem) -> RecoveryPlan:
    """Greedy in order of urgency; then again with a gang that did badly at the front, as long as that helps."""
    order = list(range(len(problem.gangs)))
    best = recover_in_order(problem, order)
    tries = _TRIES
    tried = {tuple(order)}
    while len(order) > 1 and tries:
        for at in sorted(order, key=lambda at: _result_rank(best, at)):
            ahead = [at, *[other for other in order if other != at]]
            if _result_rank(best, at) == _NO_MOVES or tuple(ahead) in tried or not tries:
                continue
            tries -= 1
            tried.add(tuple(ahead))
            found = recover_in_order(problem, ahead)
            if _is_better(problem, found, best):
                best, order = found, ahead
                break
        else:
            break
    return best


_NO_MOVES = (1, 0)


def _result_rank(plan: RecoveryPlan, at: int) -> tuple[int, int]:
    """Sorts gangs by their result: incomplete ones first, then those with the most moves."""
    places = plan.places[at]
    return (0, 0) if places is None else (1, -plan.for_gang.get(at, 0))


def _is_better(problem: RecoveryProblem, one: RecoveryPlan, other: RecoveryPlan) -> bool:
    mine, yours = _restored(one), _restored(other)
    return mine > yours or (mine == yours and one.cost(problem.gangs) < other.cost(problem.gangs))


def _restored(plan: RecoveryPlan) -> list[bool]:
    """By gang, the most urgent first: is it complete? Of two plans the greater list is better."""
    return [places is not None for places in plan.places]


@dataclass(frozen=True, slots=True)
class SubProblem:
    """A few gangs that are decided again with the capacity that the others leave, so that its solution and the rest of
    the plan fit together. `gangs` and `movables`: their indices in the whole problem; `fixed`: the moves of the other
    gangs, that is, from rows that they use; `plan`: the present plan of these gangs."""

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
            taken.update(gang.move(places, soon))
    movables = problem.movables
    fixed = {one: row for one, row in plan.moves.items() if int(movables.rows[one]) in taken}
    for one, row in fixed.items():
        movables.move(one, row, now, soon)
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
