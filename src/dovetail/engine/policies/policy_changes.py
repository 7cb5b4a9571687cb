"""Handlers for policy events. They give live workloads the constraints that apply to them now.

Pending workloads are enqueued again as if they were new. Running ones only get the new shape, for the next time a task
needs a node. A policy never stops a task.
"""

from dovetail.engine.lifecycle.task_lifecycle import dequeue, requeue
from dovetail.engine.policies.adjustments import update_adjustments
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace
from dovetail.model.command import Command
from dovetail.model.event import PolicyRemoved, PolicySet
from dovetail.model.requests.shape import Shape


def policy_set(state: EngineState, event: PolicySet, now: float) -> list[Command]:
    applied = state.policies.set(event.policy, event.version, now, event.author, event.note)
    update_adjustments(state, now)
    applied.reconsidered = reapply_policies(state)
    return []


def policy_removed(state: EngineState, event: PolicyRemoved, now: float) -> list[Command]:
    if event.name in state.policies.by_name and not workloads_naming(state, event.name):
        state.policies.remove(event.name, event.version, now, event.author, event.note)
        reapply_policies(state)
    return []


def workloads_naming(state: EngineState, policy: str) -> list[str]:
    """Live workloads that name the policy."""
    return [f"{work.namespace}/{work.name}" for work in state.work.values() if policy in work.terms.policies]


def apply_adjustments(state: EngineState, now: float) -> None:
    """Before a scheduling cycle: evaluate the conditions and apply what changed."""
    if update_adjustments(state, now):
        state.wake.event_count += 1
        reapply_policies(state)


def reapply_policies(state: EngineState) -> int:
    """Give every live workload its effective shape. Returns how many pending ones were enqueued again."""
    waited = 0
    same: dict[tuple[Shape, Shape], bool] = {}  # many workloads share a shape: compare each pair once
    for work in list(state.work.values()):
        shape = state.policies.effective_shape(work.terms, work.namespace, work.name)
        pair = (work.shape, shape)
        if pair not in same:
            same[pair] = work.shape == shape
        if same[pair]:
            continue
        if work.queue_place is QueuePlace.NOWHERE:
            work.set_shape(shape)
            continue
        dequeue(state, work)  # its place depends on its shape, and others of its class may wait behind it
        work.set_shape(shape)
        requeue(state, work)
        waited += 1
    return waited
