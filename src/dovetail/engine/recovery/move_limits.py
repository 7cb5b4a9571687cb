"""Limits on moves: after many failures, recovery proceeds in steps, the most urgent gangs first.

`rate` limits the moves of surviving tasks in any minute, `at_once` the share of all tasks that is moving. If nothing
moved for a minute, a single plan may exceed the rate up to that share; otherwise a large gang could never be repaired.
Only single tasks make way for others (`problem`), so no recovery breaks another gang.
"""

from dovetail.engine.recovery.problem import Case
from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.recovery.problem import RecoveryPlan
from dovetail.placement.recovery.search import most_urgent_only

#: At least this many tasks may move at once, however small the cluster.
_MIN_AT_ONCE = 8


def moves_left(state: EngineState, now: float) -> int:
    """How many surviving tasks may be moved now."""
    settings, recoveries = state.settings.recovery, state.recoveries
    recent = recoveries.recent_moves(now)
    moving = sum(1 for task in recoveries.held if task in state.stopping)
    share = max(_MIN_AT_ONCE, int(settings.at_once * len(state.cluster.placements.by_task)))
    return min(settings.rate - recent if recent else max(settings.rate, share), share - moving)


def within_limits(state: EngineState, case: Case, plan: RecoveryPlan, now: float) -> RecoveryPlan:
    """The plan, reduced to the most urgent gangs if it moves more than is allowed now."""
    problem, left = case.problem, moves_left(state, now)
    if plan.cost(problem.gangs) <= left:
        return plan
    for count in range(len(problem.gangs) - 1, 0, -1):
        fewer = most_urgent_only(problem, plan, count)
        if fewer is not None and fewer.cost(problem.gangs) <= left:
            return fewer
    return RecoveryPlan([None] * len(problem.gangs))
