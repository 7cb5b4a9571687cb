"""One plan for all gangs that are broken and have none: posed, searched for, tried on the real state, carried out.

A plan that the filters refuse when it is tried is made again without the rows that did not do. Gangs that no plan makes
whole hold their nodes for as long as the settings say; those that only have to wait because too much is moving, for
longer.
"""

from collections.abc import Container

from dovetail.engine.recovery.move_limits import within_limits
from dovetail.engine.recovery.moves import allows, arrive, carry_out, made_whole, over_quota
from dovetail.engine.recovery.problem import Case, pose
from dovetail.engine.recovery.progress import hold, is_planned
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.task import TaskId
from dovetail.placement.recovery import LOST, RecoveryPlan, recover

#: Broken gangs are looked at again at most so often.
LOOK_EVERY_S = 1.0
#: Plans that are tried before it is taken that none will do.
_MOST_TRIES = 4
#: How long a gang is kept that only has to wait because too much is moving.
_PATIENCE_S = 300.0


def look(state: EngineState, now: float, only: Container[int] | None = None) -> list[Command]:
    """One plan for all that have none, or for these alone."""
    recoveries = state.recoveries
    ids = [id_ for id_ in recoveries.mending if not is_planned(state.work[id_])]
    if only is None:
        recoveries.look_at = now + LOOK_EVERY_S
    else:
        ids = [id_ for id_ in ids if id_ in only]
    works = sorted([state.work[id_] for id_ in ids], key=lambda work: (work.rank, work.submitted_at, work.id))
    commands: list[Command] = []
    barred: dict[int, set[int]] = {}
    throttled: set[int] = set()
    for _ in range(_MOST_TRIES):
        works = [work for work in works if not over_quota(state, work, work.gang_short)]
        if not works:
            break
        case = pose(state, works, barred, now)
        whole = recover(case.problem)
        plan = within_limits(state, case, whole, now)
        cut = {work.id for work, *_ in made_whole(case, plan)}
        throttled |= {work.id for work, *_ in made_whole(case, whole) if work.id not in cut}
        faults = _tried(state, case, plan)
        if not faults:
            commands += carry_out(state, case, plan, now)
            break
        for work, row in faults:
            barred.setdefault(work, set()).add(row)
    for id_ in ids:
        if id_ in recoveries.mending and not is_planned(state.work[id_]):
            waits = id_ in throttled
            why = "too much is being moved already" if waits else "no replacement fits"
            commands += hold(state, state.work[id_], why, now, _PATIENCE_S if waits else 0.0)
    commands += arrive(state, now)
    recoveries.seen = state.cluster.changes
    if throttled or only is not None:  # it takes nothing but time for them, or others were not looked at
        recoveries.seen = -1
        state.timers.set(TimerKind.RECOVERY, None, recoveries.look_at)
    return commands


def _tried(state: EngineState, case: Case, plan: RecoveryPlan) -> list[tuple[int, int]]:
    """Everybody put where the plan says, in a trial: workloads and rows that do not do after all."""
    cluster = state.cluster
    arriving = [(case.movables[movable], row) for movable, row in plan.moves.items()]
    leaving = [*state.stopping, *[task for task, _ in arriving]]
    for work, replicas, gang, places in made_whole(case, plan):
        for replica, before, after in zip(replicas, gang, places, strict=True):
            if before != after:
                arriving.append((TaskId(work.id, replica), after))
                leaving += [TaskId(work.id, replica)] if before != LOST else []
    with cluster.trial():
        for task in leaving:
            cluster.remove(task)
        for name in sorted({cluster.names[row] for _, row in arriving} & state.recoveries.spares.keys()):
            cluster.reserve(name, cluster.resources.amounts(state.recoveries.spares[name]), -1)
        return [(task.workload, row) for task, row in arriving if not _put(state, state.work[task.workload], task, row)]


def _put(state: EngineState, work: Work, task: TaskId, row: int) -> bool:
    request = state.asked(work.shape.least, work.identity)
    if not allows(state, request, row):
        return False
    state.cluster.place(
        task, row, request.column, work.shape.service_key, identity=work.identity, gpus=request.shape.gpus
    )
    return True
