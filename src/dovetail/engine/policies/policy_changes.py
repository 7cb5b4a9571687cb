"""Events about policies, and live work that takes on what is in force for it.

What waits is looked at again as if it had just come; what holds a node only takes the new shape on, for the next time
one of its tasks needs a place. Nothing is stopped because of a policy.
"""

from dovetail.engine.lifecycle.task_lifecycle import dequeue, requeue
from dovetail.engine.policies.adjustments import judge
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace
from dovetail.model.command import Command
from dovetail.model.event import PolicyRemoved, PolicySet
from dovetail.model.requests.shape import Shape


def policy_set(state: EngineState, event: PolicySet, now: float) -> list[Command]:
    ruling = state.policies.set(event.policy, event.version, now, event.author, event.note)
    judge(state, now)
    ruling.reconsidered = reconsider(state)
    return []


def policy_removed(state: EngineState, event: PolicyRemoved, now: float) -> list[Command]:
    if event.name in state.policies.rulings and not named_by(state, event.name):
        state.policies.remove(event.name, event.version, now, event.author, event.note)
        reconsider(state)
    return []


def named_by(state: EngineState, policy: str) -> list[str]:
    """Live work that asks for the policy by name."""
    return [f"{work.namespace}/{work.name}" for work in state.work.values() if policy in work.terms.policies]


def adjust(state: EngineState, now: float) -> None:
    """Before deciding: conditions of the cluster that began or ended to hold change what is in force."""
    if judge(state, now):
        state.wake.event_count += 1
        reconsider(state)


def reconsider(state: EngineState) -> int:
    """Every live workload takes on what is in force for it now. Returns how many of them waited."""
    waited = 0
    same: dict[tuple[Shape, Shape], bool] = {}  # most work shares its shape with other work: compared once
    for work in list(state.work.values()):
        shape = state.policies.in_force(work.terms, work.namespace, work.name)
        pair = (work.shape, shape)
        if pair not in same:
            same[pair] = work.shape == shape
        if same[pair]:
            continue
        if work.queue_place is QueuePlace.NOWHERE:
            work.set_shape(shape)
            continue
        dequeue(state, work)  # its place follows from its shape, and others of its kind may wait behind it
        work.set_shape(shape)
        requeue(state, work)
        waited += 1
    return waited
