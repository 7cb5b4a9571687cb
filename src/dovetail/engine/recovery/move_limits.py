"""How much may be moved at once: a storm of failures is dealt with in portions, the most urgent gangs first.

`rate` bounds the moves of tasks that were not lost in any minute, `at_once` the share of all tasks that is on the move.
A single plan may go beyond the rate if nothing has been moved for a minute, up to that share: else a large gang could
never be mended. Only single tasks are moved for others (`recovery_problem`), so no recovery breaks another gang.
"""

from dovetail.engine.recovery.problem import Case
from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.recovery import RecoveryPlan, for_the_first

#: So few may be on the move at once in any cluster, however small the share.
_FEW = 8


def moves_left(state: EngineState, now: float) -> int:
    """How many tasks that were not lost may be moved now."""
    settings, recoveries = state.settings.recovery, state.recoveries
    lately = recoveries.moved_lately(now)
    going = sum(1 for task in recoveries.kept if task in state.stopping)
    share = max(_FEW, int(settings.at_once * len(state.cluster.placements.by_task)))
    return min(settings.rate - lately if lately else max(settings.rate, share), share - going)


def within_limits(state: EngineState, case: Case, plan: RecoveryPlan, now: float) -> RecoveryPlan:
    """The plan, or what of it is for the most urgent gangs and moves no more than may be moved now."""
    problem, left = case.problem, moves_left(state, now)
    if plan.cost(problem.gangs) <= left:
        return plan
    for count in range(len(problem.gangs) - 1, 0, -1):
        fewer = for_the_first(problem, plan, count)
        if fewer is not None and fewer.cost(problem.gangs) <= left:
            return fewer
    return RecoveryPlan([None] * len(problem.gangs))
