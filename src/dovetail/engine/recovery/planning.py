"""Plans the recovery of all broken gangs that have no plan yet: search, trial on the real state, execution.

If the filters refuse a planned row in the trial, the search runs again without that row. A gang that no plan completes
keeps its nodes for the configured time; longer if it waits only because too many tasks are moving.

After many failures, recovery proceeds in steps, the most urgent gangs first. `rate` limits the moves of surviving tasks
in any minute, `at_once` the share of all tasks that is moving. If nothing moved for a minute, a single plan may exceed
the rate up to that share; otherwise a large gang could never be completed. Only single tasks make way for others
(`problem`), so no recovery breaks another gang.
"""

from collections.abc import Container

from dovetail.engine.recovery.moves import execute_plan, over_quota, passes_filters, place_arrivals, restored_gangs
from dovetail.engine.recovery.problem import Case, build_case
from dovetail.engine.recovery.progress import is_planned, keep_nodes
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command
from dovetail.model.task import TaskId
from dovetail.placement.recovery.problem import LOST, RecoveryPlan
from dovetail.placement.recovery.search import most_urgent_only, recover

#: The least time between two searches.
SEARCH_EVERY_S = 1.0
#: After this many refused plans the search stops.
_MAX_TRIES = 4
#: How long a gang keeps its nodes if it waits only because of the move limits.
_THROTTLED_HOLD_S = 300.0
#: At least this many tasks may move at once, however small the cluster.
_MIN_AT_ONCE = 8


def plan_and_execute(state: EngineState, now: float, only: Container[int] | None = None) -> list[Command]:
    """Make and execute one plan for all gangs without one, or only for those in `only`."""
    recoveries = state.recoveries
    ids = [id_ for id_ in recoveries.broken_gangs if not is_planned(state.work[id_])]
    if only is None:
        recoveries.next_search_at = now + SEARCH_EVERY_S
    else:
        ids = [id_ for id_ in ids if id_ in only]
    works = sorted([state.work[id_] for id_ in ids], key=lambda work: (work.rank, work.submitted_at, work.id))
    commands: list[Command] = []
    excluded: dict[int, set[int]] = {}
    throttled: set[int] = set()
    for _ in range(_MAX_TRIES):
        works = [work for work in works if not over_quota(state, work, work.gang_short)]
        if not works:
            break
        case = build_case(state, works, excluded, now)
        whole = recover(case.problem)
        plan = _within_limits(state, case, whole, now)
        cut = {work.id for work, *_ in restored_gangs(case, plan)}
        throttled |= {work.id for work, *_ in restored_gangs(case, whole) if work.id not in cut}
        faults = _refused_in_trial(state, case, plan)
        if not faults:
            commands += execute_plan(state, case, plan, now)
            break
        for work, row in faults:
            excluded.setdefault(work, set()).add(row)
    for id_ in ids:
        if id_ in recoveries.broken_gangs and not is_planned(state.work[id_]):
            waits = id_ in throttled
            why = "too much is being moved already" if waits else "no replacement fits"
            commands += keep_nodes(state, state.work[id_], why, now, _THROTTLED_HOLD_S if waits else 0.0)
    commands += place_arrivals(state, now)
    recoveries.seen = state.cluster.changes
    if throttled or only is not None:  # time alone may help them, or other gangs were not searched
        recoveries.seen = -1
        state.timers.set(TimerKind.RECOVERY, None, recoveries.next_search_at)
    return commands


def _within_limits(state: EngineState, case: Case, plan: RecoveryPlan, now: float) -> RecoveryPlan:
    """The plan, reduced to the most urgent gangs if it moves more than is allowed now."""
    problem, settings, recent = case.problem, state.settings.recovery, state.recoveries.recent_moves(now)
    moving = sum(1 for task in state.recoveries.held if task in state.stopping)
    share = max(_MIN_AT_ONCE, int(settings.at_once * len(state.cluster.placements.by_task)))
    left = min(settings.rate - recent if recent else max(settings.rate, share), share - moving)
    if plan.cost(problem.gangs) <= left:
        return plan
    for count in range(len(problem.gangs) - 1, 0, -1):
        fewer = most_urgent_only(problem, plan, count)
        if fewer is not None and fewer.cost(problem.gangs) <= left:
            return fewer
    return RecoveryPlan([None] * len(problem.gangs))


def _refused_in_trial(state: EngineState, case: Case, plan: RecoveryPlan) -> list[tuple[int, int]]:
    """Apply the plan in a trial. Returns the (workload, row) pairs that the filters refuse."""
    cluster = state.cluster
    arriving = [(case.movables[movable], row) for movable, row in plan.moves.items()]
    leaving = [*state.stopping, *[task for task, _ in arriving]]
    for work, replicas, gang, places in restored_gangs(case, plan):
        for replica, before, after in zip(replicas, gang, places, strict=True):
            if before != after:
                arriving.append((TaskId(work.id, replica), after))
                leaving += [TaskId(work.id, replica)] if before != LOST else []
    with cluster.trial():
        for task in leaving:
            cluster.remove(task)
        for name in sorted({cluster.names[row] for _, row in arriving} & state.recoveries.spares.keys()):
            cluster.reserve(name, cluster.resources.amounts(state.recoveries.spares[name]), -1)
        return [(task.workload, row) for task, row in arriving if not _place_in_trial(state, task, row)]


def _place_in_trial(state: EngineState, task: TaskId, row: int) -> bool:
    work = state.work[task.workload]
    request = state.asked(work.shape.least, work.identity)
    if not passes_filters(state, request, row):
        return False
    service, gpus = work.shape.service_key, request.shape.gpus
    state.cluster.place(task, row, request.column, service, identity=work.identity, gpus=gpus)
    return True
