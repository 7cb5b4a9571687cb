"""Making gangs whole again that lost tasks with their nodes, at the price of as few moves as can be.

A gang that falls below its least because nodes failed keeps the nodes of its other tasks (`begin`); as soon as all that
was lost in one event is known, and later whenever something changed, one plan is made for all broken gangs
(`placement.recovery`), tried on the real state, and carried out: first those who make way are told to stop, then every
task is placed as soon as the room that is kept for it is there. Where no plan is possible the gang waits for `hold`,
then gives its nodes back and stands in line again.

Storms: a plan with more moves than `rate` and `at_once` leave waits or is made for fewer gangs; only single tasks are
moved for others, so no recovery breaks another gang.
"""

from dataclasses import replace
from heapq import heapify

import numpy as np

from dovetail.cluster.view import View
from dovetail.engine.life import MOVING, stand_in_line, stop_all, stop_task
from dovetail.engine.recovery_problem import Case, apart_from_itself, missing, pose
from dovetail.engine.spares import keep_spares, let_go
from dovetail.engine.state import EngineState
from dovetail.engine.taking import Taking
from dovetail.engine.timers import About
from dovetail.engine.work import Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.recovery import RecoveryNote
from dovetail.model.task import TaskId, TaskState
from dovetail.placement.contract import Request
from dovetail.placement.pipeline import Choice
from dovetail.placement.recovery import LOST, Plan, recover

#: Broken gangs are looked at again at most so often.
LOOK_EVERY_S = 1.0
#: So few may be on the move at once in any cluster, however small the share.
_FEW = 8
#: Plans that are tried before it is taken that none will do.
_MOST_TRIES = 4
#: How long a gang is kept that only has to wait because too much is moving.
_PATIENCE_S = 300.0
_NAMED = 3
RECOVERING = "recovering"


def after_event(state: EngineState, now: float) -> list[Command]:
    """Whatever happened: what was lost is dealt with at once."""
    recoveries = state.recoveries
    fresh = bool(recoveries.fresh) and bool(recoveries.mending)
    recoveries.fresh.clear()
    if not recoveries.mending and not recoveries.kept:
        return []
    commands = _tidy(state, now)
    if fresh:
        commands += _look(state, now)
    return commands


def mend(state: EngineState, now: float) -> list[Command]:
    """At the beginning of a slice, before anybody else is given room."""
    keep_spares(state)
    recoveries = state.recoveries
    if not recoveries.mending and not recoveries.kept:
        return []
    commands = _tidy(state, now)
    commands += _arrive(state, now)
    if _is_open(state) and recoveries.seen != state.cluster.changes:
        if now >= recoveries.look_at:
            commands += _look(state, now)
        else:
            state.timers.set(About.RECOVERY, None, recoveries.look_at)
    return commands


def is_due(state: EngineState, now: float) -> bool:
    """Would a slice find something to do?"""
    recoveries = state.recoveries
    if _is_open(state) and recoveries.seen != state.cluster.changes and now >= recoveries.look_at:
        return True
    return any(_has_come(state, task) for task in recoveries.kept)


def _is_open(state: EngineState) -> bool:
    return any(not _recovering(state.work[id_]) for id_ in state.recoveries.mending if id_ in state.work)


def _recovering(work: Work) -> bool:
    return work.recovery is not None and work.recovery.planned


# --- keeping the books ---------------------------------------------------------------------------------------


def _tidy(state: EngineState, now: float) -> list[Command]:
    """Recoveries that are over one way or the other, and room that is kept for nobody any more."""
    cluster, recoveries = state.cluster, state.recoveries
    for task in list(recoveries.kept):
        work = state.work.get(task.workload)
        live = None if work is None else work.tasks.get(task.replica)
        waits = live is not None and live.state in (TaskState.PENDING, TaskState.STOPPING)
        ended = work is None or work.cancelled or bool(work.doomed) or not waits
        broken_off = work is not None and bool(work.terms.gang_min) and work.recovery is None
        if ended or broken_off or not cluster.ready[cluster.rows[recoveries.kept[task].node]]:
            _release(state, task)
    commands: list[Command] = []
    for id_ in list(recoveries.mending):
        commands += _tidy_gang(state, id_, now)
    return commands


def _tidy_gang(state: EngineState, id_: int, now: float) -> list[Command]:
    recoveries, work = state.recoveries, state.work.get(id_)
    if work is None or work.recovery is None or work.cancelled or work.doomed:
        recoveries.mending.pop(id_)
        if work is not None:
            _close(state, work)
        return []
    if not work.gang_short:
        return _whole(state, work, now)
    if work.holding == work.stopping:  # nothing of it is left to keep
        return _give_up(state, work, "nothing of it is left", now)
    if len(missing(work)) < work.gang_short:
        return _give_up(state, work, "others of its tasks are not ready to start", now)
    if work.recovery.planned and any(TaskId(id_, replica) not in recoveries.kept for replica in missing(work)):
        for replica in missing(work):
            _release(state, TaskId(id_, replica))
        work.recovery.planned = False
    return []


def _release(state: EngineState, task: TaskId) -> None:
    row = state.recoveries.drop(state.cluster, task)
    if row is not None:
        state.stirred.add(row)


def _close(state: EngineState, work: Work) -> None:
    work.recovery = None
    state.recoveries.mending.pop(work.id, None)
    for task in [task for task in state.recoveries.kept if task.workload == work.id]:
        _release(state, task)
    state.timers.clear(About.RECOVERY, work.id)
    state.changed_notes[work.id] = None
    stand_in_line(state, work)


def _whole(state: EngineState, work: Work, now: float) -> list[Command]:
    recovery = work.recovery
    assert recovery is not None
    nodes = [live.node for replica in recovery.lost if (live := work.task(replica)).node is not None]
    where = f": replaced on {_names([node for node in nodes if node is not None])}" if nodes else ""
    message = f"gang {work.name} {_what_was_lost(work)}{where}{recovery.words}"
    _note(state, work, "whole", message, moved=recovery.moved, took_s=now - recovery.since)
    work.reason = work.message = ""
    state.changed_work[work.id] = None
    _close(state, work)
    return []


def _give_up(state: EngineState, work: Work, why: str, now: float) -> list[Command]:  # noqa: ARG001
    """It gives its nodes back and waits like anybody else, as a whole."""
    words = f"{_what_was_lost(work)}, {why}"
    _note(state, work, "given_up", f"gang {work.name} {words}: gives its nodes back and waits")
    lost = f"its gang fell below {work.terms.gang_min} tasks: {words}"
    _close(state, work)
    commands = stop_all(state, work, lost, evicting=True)
    work.reason, work.message = RECOVERING, f"{words}; waits to start together again"
    state.changed_work[work.id] = None
    stand_in_line(state, work)
    return commands


# --- tasks whose room has come -------------------------------------------------------------------------------


def _has_come(state: EngineState, task: TaskId) -> bool:
    """The task waits, and what is kept for it is there."""
    work, kept = state.work.get(task.workload), state.recoveries.kept[task]
    if work is None or task.replica not in work.waiting or kept.node not in state.cluster.rows:
        return False
    if work.terms.concurrency and work.holding >= work.terms.concurrency:
        return False
    free = state.recoveries.free_on(state.cluster, kept.node)[: len(kept.column)]
    return bool(((free >= kept.column) | (kept.column == 0)).all())


def _arrive(state: EngineState, now: float) -> list[Command]:
    commands: list[Command] = []
    for task in list(state.recoveries.kept):
        if task in state.recoveries.kept and _has_come(state, task):
            work = state.work[task.workload]
            row = state.recoveries.drop(state.cluster, task)
            assert row is not None
            # Some of its own may still be where the gang is moving from: how they lie was looked at with the plan.
            if not _allows(state, state.asked(apart_from_itself(work), work.badge), row):
                state.stirred.add(row)
                if work.recovery is not None:
                    work.recovery.planned = False
                continue
            _take(state, work, task, row, now, commands)
    for id_ in list(state.recoveries.mending):
        commands += _tidy_gang(state, id_, now)
    return commands


def _allows(state: EngineState, request: Request, row: int) -> bool:
    """Every filter says yes, as things are."""
    view = View(state.cluster).subset(np.array([row], dtype=np.intp))
    return bool(state.pipelines[request.shape.profile].evaluator.sift(request, view).alive[0])


def _take(state: EngineState, work: Work, task: TaskId, row: int, now: float, commands: list[Command]) -> None:
    node = state.cluster.names[row]
    lost = {} if work.recovery is None else work.recovery.lost
    note = (
        f"takes the place of the one lost on {lost[task.replica]}" if task.replica in lost else "moved for a recovery"
    )
    said = Explanation(
        Outcome.PLACED, f"placed on {node}", work.shape.profile, len(state.cluster.rows), (), notes=(note,)
    )
    others = [replica for replica in work.waiting if replica != task.replica]
    reason, message = work.reason, work.message
    work.waiting = [task.replica]
    taking = Taking(state, work, state.asked(work.shape.least, work.badge), now, commands)
    taking.take(Choice(row, said))
    taking.close()
    heapify(others)
    work.waiting = others
    if others:
        work.reason, work.message = reason, message
    stand_in_line(state, work)


# --- plans ---------------------------------------------------------------------------------------------------


def _look(state: EngineState, now: float) -> list[Command]:
    """One plan for all that have none."""
    recoveries = state.recoveries
    recoveries.look_at = now + LOOK_EVERY_S
    ids = [id_ for id_ in recoveries.mending if not _recovering(state.work[id_])]
    works = sorted([state.work[id_] for id_ in ids], key=lambda work: (work.rank, work.submitted_at, work.id))
    commands: list[Command] = []
    barred: dict[int, set[int]] = {}
    throttled: set[int] = set()
    for _ in range(_MOST_TRIES):
        works = [work for work in works if not _over_quota(state, work)]
        if not works:
            break
        case = pose(state, works, barred, now)
        plan = recover(case.problem)
        plan, too_many = _within_limits(state, case, plan, now)
        throttled |= {work.id for work in works} if too_many else set()
        faults = _tried(state, case, plan)
        if not faults:
            commands += _carry_out(state, case, plan, now)
            break
        for work, row in faults:
            barred.setdefault(work, set()).add(row)
    for id_ in ids:
        if id_ in recoveries.mending and not _recovering(state.work[id_]):
            commands += _hold(state, state.work[id_], now, _PATIENCE_S if id_ in throttled else 0.0)
    commands += _arrive(state, now)
    recoveries.seen = state.cluster.changes
    if throttled:  # it takes nothing but time for them
        recoveries.seen = -1
        state.timers.set(About.RECOVERY, None, recoveries.look_at)
    return commands


def _over_quota(state: EngineState, work: Work) -> bool:
    if not state.limited[work.queue]:
        return False
    amounts = {name: amount * work.gang_short for name, amount in work.shape.amounts}
    return state.quotas.over(work.queue, work.terms.user, amounts) is not None


def _within_limits(state: EngineState, case: Case, plan: Plan, now: float) -> tuple[Plan, bool]:
    """The plan, or one for fewer gangs, the most urgent first, that moves no more than may be moved now."""
    settings, recoveries = state.settings.recovery, state.recoveries
    lately = recoveries.moved_lately(now)
    going = sum(1 for task in recoveries.kept if task in state.stopping)
    share = max(_FEW, int(settings.at_once * len(state.cluster.placements.by_task)))
    left = min(settings.rate - lately if lately else max(settings.rate, share), share - going)
    gangs = case.problem.gangs
    if plan.cost(gangs) <= left:
        return plan, False
    for count in range(len(gangs) - 1, 0, -1):
        fewer = recover(replace(case.problem, gangs=gangs[:count]))
        if fewer.cost(gangs[:count]) <= left:
            fewer.places += [None] * (len(gangs) - count)
            return fewer, True
    return Plan([None] * len(gangs)), True


def _tried(state: EngineState, case: Case, plan: Plan) -> list[tuple[int, int]]:
    """Everybody put where the plan says, in a trial: workloads and rows that do not do after all."""
    cluster = state.cluster
    arriving = [(case.movables[movable], row) for movable, row in plan.moves.items()]
    leaving = [*state.stopping, *[task for task, _ in arriving]]
    for work, replicas, gang, places in _gangs(case, plan):
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


def _gangs(case: Case, plan: Plan) -> list[tuple[Work, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Of each gang that will be whole: its work, its replicas, where they are and where they will be."""
    together = zip(case.works, case.replicas, case.problem.gangs, plan.places, strict=True)
    return [(work, replicas, gang.rows, places) for work, replicas, gang, places in together if places is not None]


def _put(state: EngineState, work: Work, task: TaskId, row: int) -> bool:
    request = state.asked(work.shape.least, work.badge)
    if not _allows(state, request, row):
        return False
    state.cluster.place(task, row, request.column, work.shape.service_key, badge=work.badge, gpus=request.shape.gpus)
    return True


def _carry_out(state: EngineState, case: Case, plan: Plan, now: float) -> list[Command]:
    """First what frees room; the others follow when it is there."""
    commands: list[Command] = []
    cluster, recoveries = state.cluster, state.recoveries
    names = _names([work.name for work, *_ in _gangs(case, plan)])
    rows = {row for *_, places in _gangs(case, plan) for row in places}
    for name in [cluster.names[row] for row in sorted(rows)]:
        let_go(state, name)
    moved: list[str] = []
    for movable, row in plan.moves.items():
        task = case.movables[movable]
        work = state.work[task.workload]
        recoveries.keep(cluster, task, cluster.names[row], state.asked(work.shape, work.badge).column)
        commands += stop_task(state, work, task, f"makes way for {names}", evicting=True, word=MOVING)
        moved.append(f"{work.name}.{task.replica}")
    for work, replicas, before_rows, places in _gangs(case, plan):
        recovery = work.recovery
        assert recovery is not None
        column, own = state.asked(work.shape, work.badge).column, 0
        for replica, before, after in zip(replicas, before_rows, places, strict=True):
            if before == after:
                continue
            task = TaskId(work.id, replica)
            recoveries.keep(cluster, task, cluster.names[after], column)
            if before != LOST:
                own += 1
                commands += stop_task(state, work, task, "moves with its gang", evicting=True, word=MOVING)
        recovery.planned, recovery.moved = True, own + len(moved)
        recovery.words = (f"; moved {_names(moved)} away" if moved else "") + (
            f"; {own} of its own moved" if own else ""
        )
        work.reason, work.message = RECOVERING, f"{_what_was_lost(work)}, is being replaced{recovery.words}"
        state.changed_work[work.id] = state.changed_notes[work.id] = None
        if recovery.moved:
            _note(state, work, "moving", f"gang {work.name} {work.message}", moved=recovery.moved)
    recoveries.moves.extend([now] * plan.cost(case.problem.gangs))
    return commands


def _hold(state: EngineState, work: Work, now: float, at_least_s: float = 0.0) -> list[Command]:
    """No replacement fits, or not yet."""
    recovery = work.recovery
    assert recovery is not None
    until = recovery.since + max(state.settings.recovery.hold, at_least_s)
    if now >= until:
        return _give_up(state, work, "no replacement fits", now)
    message = f"{_what_was_lost(work)}: keeps its nodes for {until - now:.0f} s, in case a replacement comes to fit"
    if work.reason != RECOVERING or work.recovery is None:
        _note(state, work, "holding", f"gang {work.name} {message}")
    work.reason, work.message = RECOVERING, message
    state.changed_work[work.id] = None
    state.timers.set(About.RECOVERY, work.id, until)
    return []


def recovery_due(state: EngineState, workload: int | None, now: float) -> list[Command]:
    """Its time to hold is over: it is looked at for the last time. None: only a moment to look again."""
    work = None if workload is None else state.work.get(workload)
    if work is None or work.recovery is None or work.recovery.planned:
        return []
    return [*_tidy(state, now), *_look(state, now)]


# --- words ---------------------------------------------------------------------------------------------------


def _what_was_lost(work: Work) -> str:
    assert work.recovery is not None
    lost = work.recovery.lost
    nodes = sorted(set(lost.values()))
    return f"lost {len(lost)} of {work.replicas} on {_names(nodes)}"


def _names(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(distinct[:_NAMED]) + more


def _note(
    state: EngineState, work: Work, outcome: str, message: str, moved: int = 0, took_s: float | None = None
) -> None:
    lost = 0 if work.recovery is None else len(work.recovery.lost)
    state.recoveries.notes.append(RecoveryNote(work.id, outcome, message, lost, moved, took_s))
