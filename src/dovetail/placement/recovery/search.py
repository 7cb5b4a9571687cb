"""Searches the smallest set of moves that completes broken gangs.

Gangs are ordered by urgency: one is left incomplete only if no plan completes it beside those before it. Among the
plans that complete the same gangs, the one with the fewest moves wins; among equal ones, the one that uses the fewest
spare nodes and stays closest to the gangs' remaining tasks.
`greedy` gives the first plan; without moves it is optimal. Otherwise an integer program (`optimum`) finds a better plan
or proves that there is none, for a few gangs at a time if many are broken.
Guarantees: pure and deterministic; `RecoveryPlan.exact` says whether the plan is proved optimal. Left to others: which
tasks may move, which nodes are allowed, and executing the plan.
"""

from dataclasses import replace

from dovetail.placement.recovery.greedy import recover_in_order
from dovetail.placement.recovery.optimum import fewest_moves, recoverable_gangs
from dovetail.placement.recovery.problem import RecoveryPlan, RecoveryProblem
from dovetail.placement.recovery.proximity import move_closer
from dovetail.placement.recovery.sub_problems import merge, sub_problem

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
        found = fewest_moves(problem, _restored_gangs(best), cost - 1)
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


def _restored_gangs(plan: RecoveryPlan) -> list[int]:
    return [at for at, whole in enumerate(_restored(plan)) if whole]


def _restored(plan: RecoveryPlan) -> list[bool]:
    """By gang, the most urgent first: is it complete? Of two plans the greater list is better."""
    return [places is not None for places in plan.places]
