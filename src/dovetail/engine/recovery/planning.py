"""Plans the recovery of all broken gangs that have no plan yet: search, trial on the real state, execution.

If the filters refuse a planned row in the trial, the search runs again without that row. A gang that no plan completes
keeps its nodes for the configured time; longer if it waits only because too many tasks are moving.
"""

from collections.abc import Container

from dovetail.engine.recovery.move_limits import within_limits
from dovetail.engine.recovery.moves import execute_plan, over_quota, passes_filters, place_arrivals, restored_gangs
from dovetail.engine.recovery.problem import Case, build_case
from dovetail.engine.recovery.progress import is_planned, keep_nodes
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.task import TaskId
from dovetail.placement.recovery.problem import LOST, RecoveryPlan
from dovetail.placement.recovery.search import recover

#: The least time between two searches.
SEARCH_EVERY_S = 1.0
#: After this many refused plans the search stops.
_MAX_TRIES = 4
#: How long a gang keeps its nodes if it waits only because of the move limits.
_THROTTLED_HOLD_S = 300.0


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
        plan = within_limits(state, case, whole, now)
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
        return [
            (task.workload, row)
            for task, row in arriving
            if not _place_in_trial(state, state.work[task.workload], task, row)
        ]


def _place_in_trial(state: EngineState, work: Work, task: TaskId, row: int) -> bool:
    request = state.asked(work.shape.least, work.identity)
    if not passes_filters(state, request, row):
        return False
    state.cluster.place(
        task, row, request.column, work.shape.service_key, identity=work.identity, gpus=request.shape.gpus
    )
    return True
