"""The smallest set of moves that makes broken gangs whole again.

A gang keeps its place in the order of urgency: it is given up only if it cannot be whole beside those before it. Of all
ways to make whole those that can be, the one with the fewest moves is sought; of equal ones, that which spares the
spare nodes and lies nearest to what is left of the gang.
Guarantees: pure and deterministic; few nodes: exact, unless that would take too many steps (`Plan.exact` tells). Left
to others: who may be moved, which nodes are allowed, and carrying it out.
"""

from dataclasses import replace

from dovetail.placement.recovery.exact import MOST_MOVABLES, MOST_NODES, Exact, OutOfSteps
from dovetail.placement.recovery.greedy import one_by_one
from dovetail.placement.recovery.problem import Plan, Problem
from dovetail.placement.recovery.sharpening import sharpened

#: Orders in which gangs are taken one after the other: many where that is cheap.
_TRIES, _FEW_TRIES = 32, 3
#: So many nodes at most for what looks at all of them again and again.
_NOT_LARGE = 128


def recover(problem: Problem) -> Plan:
    """Where the tasks of each gang go, and who makes way."""
    found = _in_some_order(problem)
    return _refined(problem, found) if _is_small(problem) else found


def _in_some_order(problem: Problem) -> Plan:
    """One gang after the other; then again and again with one that fared badly ahead of the others, as long as that
    helps."""
    order = list(range(len(problem.gangs)))
    best = one_by_one(problem, order)
    large = problem.now.shape[1] > _NOT_LARGE
    tries = _FEW_TRIES if large else _TRIES
    tried = {tuple(order)}
    while len(order) > 1 and tries:
        for at in sorted(order, key=lambda at: _luck(best, at)):
            ahead = [at, *[other for other in order if other != at]]
            if _luck(best, at) == _FINE or tuple(ahead) in tried or not tries:
                continue
            tries -= 1
            tried.add(tuple(ahead))
            found = one_by_one(problem, ahead)
            if _is_better(problem, found, best):
                best, order = found, ahead
                break
        else:
            break
    if large or not best.cost(problem.gangs):
        return best
    found = one_by_one(problem, order, sharpened)
    return found if _is_better(problem, found, best) else best


_FINE = (1, 0)


def _luck(plan: Plan, at: int) -> tuple[int, int]:
    """How a gang fared: those that are not whole are worst off, then those that move most."""
    places = plan.places[at]
    return (0, 0) if places is None else (1, -plan.for_gang.get(at, 0))


def _is_better(problem: Problem, one: Plan, other: Plan) -> bool:
    mine, yours = _made_whole(one), _made_whole(other)
    return mine > yours or (mine == yours and one.cost(problem.gangs) < other.cost(problem.gangs))


def _is_small(problem: Problem) -> bool:
    return problem.now.shape[1] <= MOST_NODES and len(problem.movables) <= MOST_MOVABLES


def _refined(problem: Problem, guess: Plan) -> Plan:
    """Each gang is added to those before it if all of them together can be whole; where that takes too long to tell,
    it is left out, unless the guess has an answer."""
    best = Plan([None] * len(problem.gangs), {}, exact=True)
    for at in range(len(problem.gangs)):
        wider = [*_whole(best), at]
        # A guess that makes just these whole is an answer to beat.
        known = replace(guess, exact=best.exact) if _whole(guess) == wider else None
        found, sure = _best(problem, wider, known)
        exact = best.exact and sure
        best = replace(found or best, exact=exact)
    return best if _made_whole(best) >= _made_whole(guess) else guess


def _best(problem: Problem, chosen: list[int], known: Plan | None) -> tuple[Plan | None, bool]:
    """The best found, and whether there is none better. First without anybody going in vain, which is quick and nearly
    always the answer; then all the rest."""
    sure = True
    for thorough in (False, True):
        search = Exact(problem, chosen, None if known is None else known.cost(problem.gangs), thorough)
        try:
            search.run()
        except OutOfSteps:
            sure = False
        else:
            sure = True
        known = search.best or known
    return known, sure


def _whole(plan: Plan) -> list[int]:
    return [at for at, whole in enumerate(_made_whole(plan)) if whole]


def _made_whole(plan: Plan) -> list[bool]:
    """By gang, the most urgent first: of two plans the greater is better."""
    return [places is not None for places in plan.places]
