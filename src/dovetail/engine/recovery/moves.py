"""Carrying out a recovery: first those who make way are told to stop, then every task is placed as soon as the room
that is kept for it is there.

Guarantees: from the moment a plan is carried out until everybody has arrived, nobody else is given that room. A task
whose room does not do any more when it comes is planned for anew.
"""

from heapq import heapify

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.engine.lifecycle.moving import hold_target, move_task
from dovetail.engine.lifecycle.task_lifecycle import requeue
from dovetail.engine.recovery.problem import Case, apart_from_itself
from dovetail.engine.recovery.progress import tidy_gang
from dovetail.engine.recovery.spares import release_spares
from dovetail.engine.recovery.wording import RECOVERING, names, nearness_words, note, what_was_lost
from dovetail.engine.scheduling.placement_committer import PlacementCommitter
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice
from dovetail.placement.recovery import LOST, RecoveryPlan


def made_whole(case: Case, plan: RecoveryPlan) -> list[tuple[Work, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Of each gang that will be whole: its work, its replicas, where they are and where they will be."""
    together = zip(case.works, case.replicas, case.problem.gangs, plan.places, strict=True)
    return [(work, replicas, gang.rows, places) for work, replicas, gang, places in together if places is not None]


def carry_out(state: EngineState, case: Case, plan: RecoveryPlan, now: float) -> list[Command]:
    """First what frees room; the others follow when it is there."""
    commands: list[Command] = []
    cluster, recoveries = state.cluster, state.recoveries
    whom = names([work.name for work, *_ in made_whole(case, plan)])
    rows = {row for *_, places in made_whole(case, plan) for row in places}
    for name in [cluster.names[row] for row in sorted(rows)]:
        release_spares(state, name)
    moved: list[str] = []
    for movable, row in plan.moves.items():
        task = case.movables[movable]
        work = state.work[task.workload]
        commands += move_task(state, work, task, row, f"makes way for {whom}")
        moved.append(f"{work.name}.{task.replica}")
    for work, replicas, before_rows, places in made_whole(case, plan):
        recovery = work.recovery
        assert recovery is not None
        own = 0
        for replica, before, after in zip(replicas, before_rows, places, strict=True):
            if before == after:
                continue
            task = TaskId(work.id, replica)
            others = [row for other, row in zip(replicas, places, strict=True) if other != replica]
            recovery.near[replica] = nearness_words(state, work, after, others)
            if before == LOST:
                hold_target(state, work, task, cluster.names[after])
            else:
                own += 1
                commands += move_task(state, work, task, after, "moves with its gang")
        recovery.planned, recovery.moved = True, own + len(moved)
        recovery.words = (f"; moved {names(moved)} away" if moved else "") + (
            f"; {own} of its own moved" if own else ""
        )
        work.reason, work.message = RECOVERING, f"{what_was_lost(work)}, is being replaced{recovery.words}"
        state.changes.workloads[work.id] = state.changes.notes[work.id] = None
        if recovery.moved:
            note(state, work, "moving", f"gang {work.name} {work.message}", moved=recovery.moved)
    recoveries.moves.extend([now] * plan.cost(case.problem.gangs))
    return commands


def has_arrived(state: EngineState, task: TaskId) -> bool:
    """The task waits, and what is kept for it is there."""
    work, kept = state.work.get(task.workload), state.recoveries.kept[task]
    if work is None or task.replica not in work.waiting or kept.node not in state.cluster.rows:
        return False
    if work.terms.concurrency and work.holding >= work.terms.concurrency:
        return False
    free = state.recoveries.free_on(state.cluster, kept.node)[: len(kept.column)]
    return bool(((free >= kept.column) | (kept.column == 0)).all())


def arrive(state: EngineState, now: float) -> list[Command]:
    commands: list[Command] = []
    for task in list(state.recoveries.kept):
        if task in state.recoveries.kept and has_arrived(state, task):
            work, explanation = state.work[task.workload], state.recoveries.kept[task].explanation
            row = state.recoveries.drop(state.cluster, task)
            assert row is not None
            state.changes.notes[work.id] = None
            # Some of its own may still be where the gang is moving from: how they lie was looked at with the plan.
            # Others may have used up what its queue may hold, too.
            fits = allows(state, state.asked(apart_from_itself(work), work.identity), row)
            if not fits or over_quota(state, work, 1):
                state.wake.dirty_rows.add(row)
                if work.recovery is not None:
                    work.recovery.planned = False
                continue
            _take(state, work, task, row, explanation or _explained(state, work, task, row), now, commands)
    for id_ in list(state.recoveries.mending):
        commands += tidy_gang(state, id_, now)
    return commands


def over_quota(state: EngineState, work: Work, tasks: int) -> bool:
    """Would its queue hold too much with so many more of its tasks?"""
    if not state.accounts.limited[work.queue]:
        return False
    amounts = {name: amount * tasks for name, amount in work.shape.amounts}
    return state.accounts.quotas.over(work.queue, work.terms.user, amounts) is not None


def allows(state: EngineState, request: Request, row: int) -> bool:
    """Every filter says yes, as things are."""
    view = View(state.cluster).subset(np.array([row], dtype=np.intp))
    return bool(state.pipelines[request.shape.profile].evaluator.run_filters(request, view).alive[0])


def _explained(state: EngineState, work: Work, task: TaskId, row: int) -> Explanation:
    node = state.cluster.names[row]
    recovery, said = work.recovery, "moved for a recovery"
    if recovery is not None and task.replica in recovery.lost:
        said = f"takes the place of the one lost on {recovery.lost[task.replica]}"
    near = "" if recovery is None else recovery.near.get(task.replica, "")
    notes = (f"{said}: {near}" if near else said,)
    return Explanation(
        Outcome.PLACED, f"placed on {node}", work.shape.profile, len(state.cluster.rows), (), notes=notes
    )


def _take(
    state: EngineState,
    work: Work,
    task: TaskId,
    row: int,
    explained: Explanation,
    now: float,
    commands: list[Command],
) -> None:
    others = [replica for replica in work.waiting if replica != task.replica]
    reason, message = work.reason, work.message
    work.waiting = [task.replica]
    taking = PlacementCommitter(state, work, state.asked(work.shape.least, work.identity), now, commands)
    taking.take(Choice(row, explained))
    taking.close()
    heapify(others)
    work.waiting = others
    if others:
        work.reason, work.message = reason, message
    requeue(state, work)
