"""Executes a recovery plan: stop the tasks that move, then place each task as soon as its held capacity is free.

Guarantees: until all tasks of the plan are placed, no other work gets the capacity. If a task no longer fits its node
when its turn comes, its gang is planned again.
"""

from heapq import heapify

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.engine.lifecycle.moving import hold_target, move_task
from dovetail.engine.lifecycle.task_lifecycle import requeue
from dovetail.engine.recovery.problem import Case, shape_without_own_rules
from dovetail.engine.recovery.progress import clean_up_gang
from dovetail.engine.recovery.spares import release_spare
from dovetail.engine.recovery.wording import RECOVERING, describe_losses, describe_proximity, first_names, record_note
from dovetail.engine.scheduling.placement_committer import PlacementCommitter
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice
from dovetail.placement.recovery.problem import LOST, RecoveryPlan


def restored_gangs(
    case: Case, plan: RecoveryPlan
) -> list[tuple[Work, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Of each gang that the plan completes: its workload, its replicas, their present rows and their new rows."""
    together = zip(case.works, case.replicas, case.problem.gangs, plan.places, strict=True)
    return [(work, replicas, gang.rows, places) for work, replicas, gang, places in together if places is not None]


def execute_plan(state: EngineState, case: Case, plan: RecoveryPlan, now: float) -> list[Command]:
    """Hold the target capacity and stop the tasks that move. `place_arrivals` does the rest."""
    commands: list[Command] = []
    cluster, recoveries = state.cluster, state.recoveries
    gang_names = first_names([work.name for work, *_ in restored_gangs(case, plan)])
    rows = {row for *_, places in restored_gangs(case, plan) for row in places}
    for name in [cluster.names[row] for row in sorted(rows)]:
        release_spare(state, name)
    moved: list[str] = []
    for movable, row in plan.moves.items():
        task = case.movables[movable]
        work = state.work[task.workload]
        commands += move_task(state, task, row, f"makes space for {gang_names}")
        moved.append(f"{work.name}.{task.replica}")
    for work, replicas, before_rows, places in restored_gangs(case, plan):
        recovery = work.recovery
        assert recovery is not None
        own = 0
        for replica, before, after in zip(replicas, before_rows, places, strict=True):
            if before == after:
                continue
            task = TaskId(work.id, replica)
            others = [row for other, row in zip(replicas, places, strict=True) if other != replica]
            recovery.proximity[replica] = describe_proximity(state, work, after, others)
            if before == LOST:
                hold_target(state, task, cluster.names[after])
            else:
                own += 1
                commands += move_task(state, task, after, "moves with its gang")
        recovery.planned, recovery.moved = True, own + len(moved)
        recovery.moves_text = (f"; moved {first_names(moved)} away" if moved else "") + (
            f"; {own} of its own moved" if own else ""
        )
        work.reason, work.message = RECOVERING, f"{describe_losses(work)}, is being replaced{recovery.moves_text}"
        state.changes.workloads[work.id] = state.changes.notes[work.id] = None
        if recovery.moved:
            record_note(state, work, "moving", f"gang {work.name} {work.message}", moved=recovery.moved)
    recoveries.moves.extend([now] * plan.cost(case.problem.gangs))
    return commands


def can_be_placed(state: EngineState, task: TaskId) -> bool:
    """The task is pending, and the capacity held for it is free."""
    work, held = state.work.get(task.workload), state.recoveries.held[task]
    if work is None or task.replica not in work.waiting or work.at_limit or held.node not in state.cluster.rows:
        return False
    free = state.recoveries.free_on(held.node)[: len(held.column)]
    return bool(((free >= held.column) | (held.column == 0)).all())


def place_arrivals(state: EngineState, now: float) -> list[Command]:
    commands: list[Command] = []
    for task in list(state.recoveries.held):
        if task in state.recoveries.held and can_be_placed(state, task):
            work, explanation = state.work[task.workload], state.recoveries.held[task].explanation
            row = state.recoveries.release(task)
            assert row is not None
            state.changes.notes[work.id] = None
            # Tasks of its gang may still be where the gang moves from, so the plan has checked the rules about them.
            # Others may have used up the quota of its queue.
            fits = passes_filters(state, state.asked(shape_without_own_rules(work), work.identity), row)
            if not fits or over_quota(state, work, 1):
                state.wake.dirty_rows.add(row)
                if work.recovery is not None:
                    work.recovery.planned = False
                continue
            choice = Choice(row, explanation or _explained(state, work, task, row))
            _take(state, task, choice, now, commands)
    for id_ in list(state.recoveries.broken_gangs):
        commands += clean_up_gang(state, id_, now)
    return commands


def over_quota(state: EngineState, work: Work, tasks: int) -> bool:
    """Would this many more of its tasks exceed the quota of its queue?"""
    if not state.accounts.limited[work.queue]:
        return False
    amounts = {name: amount * tasks for name, amount in work.shape.amounts}
    return state.accounts.quotas.over(work.queue, work.terms.user, amounts) is not None


def passes_filters(state: EngineState, request: Request, row: int) -> bool:
    """Do all filters accept the row now?"""
    view = View(state.cluster).subset(np.array([row], dtype=np.intp))
    return bool(state.pipelines[request.shape.profile].evaluator.run_filters(request, view).alive[0])


def _explained(state: EngineState, work: Work, task: TaskId, row: int) -> Explanation:
    node = state.cluster.names[row]
    recovery, cause = work.recovery, "moved for a recovery"
    if recovery is not None and task.replica in recovery.lost:
        cause = f"replaces the task lost on {recovery.lost[task.replica]}"
    near = "" if recovery is None else recovery.proximity.get(task.replica, "")
    notes, nodes = (f"{cause}: {near}" if near else cause,), len(state.cluster.rows)
    return Explanation(Outcome.PLACED, f"placed on {node}", work.shape.profile, nodes, (), notes=notes)


def _take(state: EngineState, task: TaskId, choice: Choice, now: float, commands: list[Command]) -> None:
    work = state.work[task.workload]
    others = [replica for replica in work.waiting if replica != task.replica]
    reason, message = work.reason, work.message
    work.waiting = [task.replica]
    committer = PlacementCommitter(state, work, state.asked(work.shape.least, work.identity), now, commands)
    committer.take(choice)
    committer.close()
    heapify(others)
    work.waiting = others
    if others:
        work.reason, work.message = reason, message
    requeue(state, work)
