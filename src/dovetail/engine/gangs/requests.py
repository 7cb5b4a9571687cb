"""What a task of live work requests now, and the record of why refused work waits."""

from dataclasses import replace

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.reason import Explanation
from dovetail.model.record import Decision
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request


def unpromised_request(state: EngineState, work: Work, shape: Shape | None = None) -> Request:
    """The request of one of its tasks, promises to others ignored. `shape`: its own with fewer preferences."""
    asked = state.asked(work.shape, work.identity)
    request = state.pipelines[work.shape.profile].for_task(asked, work.id, work.replicas)
    return request if shape is None or shape is work.shape else replace(request, shape=shape)


def request_of(state: EngineState, work: Work, now: float, shape: Shape | None = None) -> Request:
    """The same within what promises to others leave."""
    request = unpromised_request(state, work, shape)
    if state.promises:
        members = () if work.group is None else work.group.members
        promised = state.promises.left_for(work.id, work.namespace, state.expected_s(work), now, members)
        if promised is not None:
            return replace(request, promised=promised)
    return request


def record_refusal(state: EngineState, work: Work, refusal: Explanation, now: float) -> None:
    """Record why the work waits, unless that was its reason before."""
    if not work.reason:
        state.learned.parked_since_sample += 1
    if (work.reason, work.message) != (refusal.outcome, refusal.message):
        work.reason, work.message = str(refusal.outcome), refusal.message
        state.changes.workloads[work.id] = None
        task = TaskId(work.id, work.waiting[0])
        state.changes.decisions.append(Decision(task, work.task(task.replica).attempt + 1, now, None, refusal))
