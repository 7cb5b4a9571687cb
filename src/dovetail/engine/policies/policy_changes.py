"""Policies that change: events that set or remove one, and rules of a policy that adjust its constraints.

When policies change, live workloads get the constraints that apply to them now. Pending workloads are enqueued again as
if they were new. Running ones only get the new shape, for the next time a task needs a node. A policy never stops a
task.

An adjustment tightens or relaxes a constraint while a condition on the cluster holds. It is switched on when its `when`
condition holds, and off when `until` holds (without `until`: when `when` no longer holds). If both hold it stays off.
Conditions are evaluated at most once a second, and only after the cluster or the pending queue changed: they cannot
refer to time. Each switch is recorded with the values that caused it.
"""

from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import cluster_values, compile_cluster
from dovetail.engine.lifecycle.task_lifecycle import dequeue, requeue
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.policies import NEVER_EVALUATED, ActiveAdjustment, AppliedPolicy, RuleKey
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import QueuePlace
from dovetail.model.batch import PolicySwitch
from dovetail.model.command import Command
from dovetail.model.event import PolicyRemoved, PolicySet
from dovetail.model.policy import Adjustment
from dovetail.model.requests.shape import Shape

EVALUATE_EVERY_S = 1.0
_SHOWN = 60  # characters of an expression


def policy_set(state: EngineState, event: PolicySet, now: float) -> list[Command]:
    applied = state.policies.set(event.policy, event.version, now, event.author, event.note)
    _update_adjustments(state, now)
    applied.reconsidered = _reapply_policies(state)
    return []


def policy_removed(state: EngineState, event: PolicyRemoved, now: float) -> list[Command]:
    if event.name in state.policies.by_name and not workloads_naming(state, event.name):
        state.policies.remove(event.name, event.version, now, event.author, event.note)
        _reapply_policies(state)
    return []


def workloads_naming(state: EngineState, policy: str) -> list[str]:
    """Live workloads that name the policy."""
    return [f"{work.namespace}/{work.name}" for work in state.work.values() if policy in work.terms.policies]


def apply_adjustments(state: EngineState, now: float) -> None:
    """Before a scheduling cycle: evaluate the conditions and apply what changed."""
    if _update_adjustments(state, now):
        state.wake.event_count += 1
        _reapply_policies(state)


def _reapply_policies(state: EngineState) -> int:
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


# --- adjustments ------------------------------------------------------------------------------------------------


def _update_adjustments(state: EngineState, now: float) -> bool:
    """Switch adjustments on and off if an evaluation is due. Returns whether any was switched."""
    policies = state.policies
    if not policies.adjusting or _unchanged(state) or now < _due(state, now):
        return False
    policies.evaluated_at, policies.seen = now, _stamp(state)
    changed = [_update_policy(state, applied, now) for applied in policies.by_name.values() if applied.policy.adjusts]
    return any(changed)


def schedule_rule_check(state: EngineState, now: float) -> None:
    """After an event: ask for a Tick, since with an empty queue nothing else would ask for one."""
    if not _unchanged(state):
        state.timers.set(TimerKind.ADJUSTMENT, None, _due(state, now))


def _stamp(state: EngineState) -> tuple[int, int]:
    """Everything a condition can read changes one of these counters."""
    return state.cluster.changes, len(state.pending)


def _unchanged(state: EngineState) -> bool:
    return state.policies.seen == _stamp(state)


def _due(state: EngineState, now: float) -> float:
    """When the next evaluation is due: at once after a change of policies or a clock that went back."""
    policies = state.policies
    fresh = policies.seen == NEVER_EVALUATED or now < policies.evaluated_at
    return now if fresh else max(now, policies.evaluated_at + EVALUATE_EVERY_S)


def _update_policy(state: EngineState, applied: AppliedPolicy, now: float) -> bool:
    view, waiting = View(state.cluster), len(state.pending)
    changed = False
    for index, rule in enumerate(applied.policy.rules):
        for place, adjustment in enumerate(rule.adjust):
            key = RuleKey(index, place)
            on = key in applied.active
            if on == _is_on(adjustment, on, view, waiting):
                continue
            decisive = adjustment.until if on and adjustment.until is not None else adjustment.when
            values = _values(decisive, view, waiting)
            message = _message(applied, index, adjustment, values, began=not on)
            if on:
                del applied.active[key]
            else:
                applied.active[key] = ActiveAdjustment(now, values)
            state.policies.record_switch(PolicySwitch(applied.policy.name, not on, message))
            changed = True
    return changed


def _is_on(adjustment: Adjustment, on: bool, view: View, waiting: int) -> bool:
    """Should it be on, given its present state?"""
    until = adjustment.until
    ended = until is not None and _holds(until, view, waiting)
    if on and until is not None:
        return not ended
    return not ended and _holds(adjustment.when, view, waiting)


def _holds(text: str, view: View, waiting: int) -> bool:
    try:
        return compile_cluster(text).holds(view, waiting)
    except ExpressionError:  # stored by a version that could compile it
        return False


def _values(text: str, view: View, waiting: int) -> str:
    try:
        return cluster_values(compile_cluster(text), view, waiting)
    except ExpressionError as error:
        return str(error)


def _message(applied: AppliedPolicy, index: int, adjustment: Adjustment, values: str, *, began: bool) -> str:
    """`policy zone-a: prefer node.labels.zone == "a": off, since domain("zone", "a").utilisation.cpu > 0.85 (…)`."""
    rule = applied.policy.rules[index]
    if began:
        became = f"{adjustment.words}, since {_short(adjustment.when)}"
    elif adjustment.until is not None:
        became = f"restored, since {_short(adjustment.until)}"
    else:
        became = f"restored, no longer {_short(adjustment.when)}"
    return f"{applied.source}: {rule.kind} {_short(applied.texts[index])}: {became}{_bracketed(values)}"


def describe_adjustment(adjustment: Adjustment, active: ActiveAdjustment) -> str:
    """For users: why a constraint differs from its definition."""
    return f"{adjustment.words}, since {_short(adjustment.when)}{_bracketed(active.values)}"


def _bracketed(values: str) -> str:
    return f" ({values})" if values else ""


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _SHOWN else one_line[: _SHOWN - 1] + "…"
