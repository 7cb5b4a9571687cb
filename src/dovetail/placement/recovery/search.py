"""The smallest set of moves that makes broken gangs whole again.

A gang keeps its place in the order of urgency: it is given up only if no plan makes it whole beside those before it. Of
all ways to make whole those that can be, the one with the fewest moves is sought; of equal ones, that which spares the
spare nodes and lies nearest to what is left of the gang.
A quick answer comes first (`greedy`); where it moves nobody it is the best there is. Else an integer program looks for
a better one or proves that there is none (`optimum`), for a few gangs at a time where a storm broke many.
Guarantees: pure and deterministic; `RecoveryPlan.exact` tells whether the answer is proved. Left to others: who may be
moved, which nodes are allowed, and carrying it out.
"""

from dataclasses import replace

from dovetail.placement.recovery.greedy import recover_in_order
from dovetail.placement.recovery.optimum import fewest_moves, recoverable_gangs
from dovetail.placement.recovery.problem import RecoveryPlan, RecoveryProblem
from dovetail.placement.recovery.proximity import move_closer
from dovetail.placement.recovery.sub_problems import merge, sub_problem

#: Orders in which gangs are taken one after the other.
_TRIES = 2
#: So many gangs are weighed against each other at once, and so often.
_MAX_GANGS, _SUB_PROBLEMS = 6, 4


def recover(problem: RecoveryProblem) -> RecoveryPlan:
    """Where the tasks of each gang go, and who makes way."""
    best = _best_order(problem)
    if all(_restored(best)) and not best.cost(problem.gangs):
        return replace(best, exact=True)
    if len(problem.gangs) <= _MAX_GANGS:
        return _improve(problem, best)
    # Those that fared worst, the most urgent of them first.
    order = sorted(range(len(problem.gangs)), key=lambda at: _result_rank(best, at))
    # Portions overlap, so that room can be passed on from one to the next.
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
    """One gang after the other; then again and again with one that fared badly ahead of the others, as long as that
    helps."""
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
    """How a gang fared: those that are not whole are worst off, then those that move most."""
    places = plan.places[at]
    return (0, 0) if places is None else (1, -plan.for_gang.get(at, 0))


def _is_better(problem: RecoveryProblem, one: RecoveryPlan, other: RecoveryPlan) -> bool:
    mine, yours = _restored(one), _restored(other)
    return mine > yours or (mine == yours and one.cost(problem.gangs) < other.cost(problem.gangs))


def _restored_gangs(plan: RecoveryPlan) -> list[int]:
    return [at for at, whole in enumerate(_restored(plan)) if whole]


def _restored(plan: RecoveryPlan) -> list[bool]:
    """By gang, the most urgent first: of two plans the greater is better."""
    return [places is not None for places in plan.places]
