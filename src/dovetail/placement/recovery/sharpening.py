"""A better answer for one gang, while the others stay as they are: the exact search, for as long as it may take.

Guarantees: never worse than what it is given. On large clusters it looks only at a part of what there is, and stops
after a fixed number of steps.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from dovetail.placement.recovery.exact import Exact, OutOfSteps
from dovetail.placement.recovery.problem import LOST, Broken, Movables, Problem
from dovetail.placement.recovery.scratch import Scratch

_STEPS = 6_000


def sharpened(
    problem: Problem, gang: Broken, before: Scratch, after: Scratch, places: tuple[int, ...]
) -> tuple[Scratch, tuple[int, ...]]:
    """`before`: without the gang; `after` and `places`: the answer to beat."""
    movables = problem.movables
    still = np.array([one for one in range(len(movables)) if one not in before.moves], dtype=np.intp)
    part = Movables(movables.rows[still], movables.kinds[still], movables.columns, movables.allowed)
    alone = replace(problem, now=before.now, soon=before.end, gangs=[gang], movables=part)
    search = Exact(alone, [0], after.cost - before.cost, thorough=False, steps=_STEPS)
    with suppress(OutOfSteps):
        search.run()
    if search.best is None:
        return after, places
    found = search.best.places[0]
    assert found is not None
    scratch = before.copy()
    for one, row in search.best.moves.items():
        scratch.move(int(still[one]), row)
    for task, row in enumerate(found):
        if row != gang.rows[task]:
            if gang.rows[task] != LOST:
                scratch.leave(gang.column, gang.rows[task])
                scratch.own += 1
            scratch.put(gang.column, row)
    return scratch, found
