"""What a task of live work asks for at this moment, and what is said of work that is refused."""

from dataclasses import replace

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.reason import Explanation
from dovetail.model.record import Decision
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request


def request_of(state: EngineState, work: Work, now: float, shape: Shape | None = None) -> Request:
    """What one of its tasks asks for, and what promises to others leave it. `shape`: with less than it wishes for."""
    asked = state.asked(work.shape, work.identity)
    request = state.pipelines[work.shape.profile].for_task(asked, work.id, work.replicas)
    if shape is not None:
        request = replace(request, shape=shape)
    if state.promises:
        group_members = () if work.group is None else work.group.members
        promised = state.promises.left_for(work.id, work.namespace, state.expected_s(work), now, group_members)
        if promised is not None:
            return replace(request, promised=promised)
    return request


def say(state: EngineState, work: Work, refusal: Explanation, now: float) -> None:
    """Why it waits, if that is news."""
    if not work.reason:
        state.learned.parked_since_sample += 1
    if (work.reason, work.message) != (refusal.outcome, refusal.message):
        work.reason, work.message = str(refusal.outcome), refusal.message
        state.changes.workloads[work.id] = None
        task = TaskId(work.id, work.waiting[0])
        state.changes.decisions.append(Decision(task, work.task(task.replica).attempt + 1, now, None, refusal))
