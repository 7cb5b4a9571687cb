"""Improves a plan without more moves: tasks that move anyway get rows closer to the rest of their gang.

Guarantees: no other task moves, every group stays in its domain, no row is overcommitted. Preferred are rows that are
no spare nodes, then rows near the gang's remaining tasks.
"""

from dataclasses import replace

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.placement.recovery.problem import Branch, BrokenGang, RecoveryPlan, RecoveryProblem, tree


def preference(problem: RecoveryProblem, gang: BrokenGang, kept: Rows) -> F8:
    """float64[node], lower is better: no spare node, and close to the rows in `kept`."""
    found = np.zeros(len(gang.allowed))
    if len(kept):
        for codes in gang.nearness:
            found -= (np.bincount(codes[kept], minlength=int(codes.max()) + 1) / len(kept))[codes]
    return found + (len(gang.nearness) + 1) * problem.spare


def move_closer(problem: RecoveryProblem, plan: RecoveryPlan) -> RecoveryPlan:
    now, end = problem.now.copy(), problem.soon.copy()
    for movable, row in plan.moves.items():
        problem.movables.move(movable, row, now, end)
    for gang, places in zip(problem.gangs, plan.places, strict=True):
        gang.move(places or gang.rows, end)
    closer = [
        None if places is None else _move_gang_closer(problem, gang, places, end)
        for gang, places in zip(problem.gangs, plan.places, strict=True)
    ]
    return replace(plan, places=closer)


def _move_gang_closer(problem: RecoveryProblem, gang: BrokenGang, places: tuple[int, ...], end: F8) -> tuple[int, ...]:
    found = list(places)
    kept = np.array([row for before, row in zip(gang.rows, places, strict=True) if before == row], dtype=np.intp)
    preferred = preference(problem, gang, kept)
    for branch in _branches(tree(gang)):
        moving = [member for member in branch.own if gang.rows[member] != places[member]]
        if not moving:
            continue
        among = gang.allowed.copy()
        for group in gang.groups:
            if moving[0] in group.members:
                among &= group.codes == group.codes[places[moving[0]]]
        for member in moving:
            end[:, found[member]] += gang.column
        if gang.alone:
            among[[row for member, row in enumerate(found) if member not in moving]] = False
        for member, row in zip(moving, _best(gang, np.flatnonzero(among), preferred, end, len(moving)), strict=True):
            found[member] = row
            end[:, row] -= gang.column
    return tuple(found)


def _branches(branch: Branch) -> list[Branch]:
    return [branch, *[one for child in branch.children for one in _branches(child)]]


def _best(gang: BrokenGang, rows: Rows, preferred: F8, end: F8, count: int) -> list[int]:
    """The most preferred rows for `count` tasks; of equal ones the smallest: large ones stay empty."""
    needed = np.flatnonzero(gang.column > 0)
    copies = np.floor(end[needed][:, rows] / gang.column[needed, None]).min(axis=0, initial=count)
    copies = np.clip(copies, 0, 1 if gang.alone else count).astype(np.intp)
    order = np.lexsort((copies, preferred[rows]))
    return [int(row) for row in np.repeat(rows[order], copies[order])[:count]]
