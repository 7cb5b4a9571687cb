"""A slice of deciding: take what waits in order, place it, set aside what fits nowhere, and say why."""

from heapq import heappop

import numpy as np

from dovetail.engine.state import EngineState
from dovetail.engine.work import Work
from dovetail.model.command import Bind, Command, attempt_key
from dovetail.model.reason import Explanation
from dovetail.model.record import Decision
from dovetail.model.task import TaskId, TaskState
from dovetail.placement.contract import Request
from dovetail.placement.filters.resources import Resources


def schedule(state: EngineState, limit: int, now: float) -> list[Command]:
    """At most `limit` decisions, the queues of all schedulers taking turns."""
    wake_parked(state)
    commands: list[Command] = []
    left = limit
    while left > 0:
        busy = False
        for queue in state.queues.values():
            id_ = queue.peek()
            if id_ is None or left <= 0:
                continue
            busy = True
            work = state.work[id_]
            left -= _place_waiting(state, work, left, now, commands)
            if not work.waiting:
                queue.drop(id_)
                state.wake_next(work.shape)
            elif work.id in state.parked.get(work.shape, ()):
                queue.drop(id_)
        if not busy:
            break
    state.cluster.trim_log()
    return commands


def has_waiting(state: EngineState) -> bool:
    """Is there something to decide right now?"""
    return any(len(queue) for queue in state.queues.values()) or bool(state.parked and state.stirred)


def wake_parked(state: EngineState) -> None:
    """Bring back the first of every shape that was set aside, if a node that changed since has room for it."""
    if not state.stirred:
        return
    rows = np.array(sorted(state.stirred), dtype=np.intp)
    state.stirred.clear()
    free = state.cluster.resources.free[:, rows]
    for shape in list(state.parked):
        if _may_fit(state, state.request(shape), free):
            state.wake_next(shape)


def _may_fit(state: EngineState, request: Request, free: np.ndarray) -> bool:
    """A quick look at room alone; where measured use counts, only the full evaluation can tell."""
    resources = state.pipelines[request.shape.profile].evaluator.filters[-1]
    if isinstance(resources, Resources) and resources.by_observation:
        return True
    needs = request.column[:, None]
    return bool(((free[: len(needs)] >= needs) | (needs == 0)).all(axis=0).any())


def _place_waiting(state: EngineState, work: Work, limit: int, now: float, commands: list[Command]) -> int:
    """Place the workload's waiting tasks until `limit`, or until one fits nowhere. Returns decisions made."""
    pipeline = state.pipelines[work.shape.profile]
    request = pipeline.for_task(state.request(work.shape), work.id, work.replicas)
    service = work.shape.service_key
    cluster = state.cluster
    repeats = len(work.waiting) > 1
    made = 0
    while work.waiting and made < limit:
        task = TaskId(work.id, work.waiting[0])
        live = work.task(task.replica)
        choice = pipeline.decide(request, str(task), repeats=repeats)
        made += 1
        if choice.row is None:
            _set_aside(state, work, task, live.attempt, choice.explanation, now)
            break
        heappop(work.waiting)
        cluster.place(task, choice.row, request.column, service)
        pipeline.placed(request, choice.row)
        live.attempt += 1
        live.node = cluster.names[choice.row]
        live.backend = cluster.backend_names[cluster.backends[choice.row]]
        live.placed_at = now
        live.move(TaskState.PLACED, "placed", f"placed on {live.node}")
        work.reason = work.message = ""
        state.decisions.append(Decision(task, live.attempt, now, live.node, choice.explanation))
        state.touch_task(task)
        commands.append(Bind(task, live.node, live.backend, attempt_key(task, live.attempt)))
    return made


def _set_aside(
    state: EngineState, work: Work, task: TaskId, attempt: int, explanation: Explanation, now: float
) -> None:
    state.park(work)
    if (work.reason, work.message) != (explanation.outcome, explanation.message):
        work.reason, work.message = str(explanation.outcome), explanation.message
        state.changed_work[work.id] = None
        state.decisions.append(Decision(task, attempt + 1, now, None, explanation))
