"""Rules that tighten or relax constraints of policies while the cluster is so or so.

A rule begins when its `when` holds, and ends when its `until` does; without `until` when `when` no longer holds. Where
both hold it does not begin. Rules are judged within a second of a change of the cluster or the queue, at most once a
second, and never while nothing changes: conditions know no time. Each beginning and end is told with the values that
led to it.
"""

from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.explaining import cluster_values
from dovetail.constraints.program import compile_cluster
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.policies import NEVER_SEEN, Active, RuleKey, Ruling
from dovetail.engine.state.timers import TimerKind
from dovetail.model.policy import Adjustment
from dovetail.model.record import PolicySwitch

JUDGED_EVERY_S = 1.0
_SHOWN = 60  # characters of an expression


def judge(state: EngineState, now: float) -> bool:
    """Begin and end adjustments, if it is time to look; did any?"""
    policies = state.policies
    if not policies.adjusting or _settled(state) or now < _due(state, now):
        return False
    policies.looked_at, policies.seen = now, _stamp(state)
    judged = [_judge(state, ruling, now) for ruling in policies.rulings.values() if ruling.policy.adjusts]
    return any(judged)


def schedule_rule_check(state: EngineState, now: float) -> None:
    """After an event: conditions may have come to hold while nothing waits, and then nobody else asks for a Tick."""
    if not _settled(state):
        state.timers.set(TimerKind.ADJUSTMENT, None, _due(state, now))


def _stamp(state: EngineState) -> tuple[int, int]:
    """Whatever a condition can look at changes one of these."""
    return state.cluster.changes, len(state.pending)


def _settled(state: EngineState) -> bool:
    return state.policies.seen == _stamp(state)


def _due(state: EngineState, now: float) -> float:
    """At once where nothing was judged yet, as after a change of the policies or of the clock."""
    policies = state.policies
    fresh = policies.seen == NEVER_SEEN or now < policies.looked_at
    return now if fresh else max(now, policies.looked_at + JUDGED_EVERY_S)


def _judge(state: EngineState, ruling: Ruling, now: float) -> bool:
    view, waiting = View(state.cluster), len(state.pending)
    changed = False
    for index, rule in enumerate(ruling.policy.rules):
        for place, adjustment in enumerate(rule.adjust):
            key = RuleKey(index, place)
            on = key in ruling.active
            if on == _is_on(adjustment, on, view, waiting):
                continue
            decisive = adjustment.until if on and adjustment.until is not None else adjustment.when
            values = _values(decisive, view, waiting)
            message = _words(ruling, index, adjustment, values, began=not on)
            if on:
                del ruling.active[key]
            else:
                ruling.active[key] = Active(now, values)
            state.policies.switched(PolicySwitch(ruling.policy.name, not on, message))
            changed = True
    return changed


def _is_on(adjustment: Adjustment, on: bool, view: View, waiting: int) -> bool:
    """Should it be on, given that it is or is not?"""
    until = adjustment.until
    ended = until is not None and _holds(until, view, waiting)
    if on and until is not None:
        return not ended
    return not ended and _holds(adjustment.when, view, waiting)


def _holds(text: str, view: View, waiting: int) -> bool:
    try:
        return compile_cluster(text).holds(view, waiting)
    except ExpressionError:  # kept by another version, which understood it
        return False


def _values(text: str, view: View, waiting: int) -> str:
    try:
        return cluster_values(compile_cluster(text), view, waiting)
    except ExpressionError as error:
        return str(error)


def _words(ruling: Ruling, index: int, adjustment: Adjustment, values: str, *, began: bool) -> str:
    """`policy zone-a: prefer node.labels.zone == "a": off, since domain("zone", "a").utilisation.cpu > 0.85 (…)`."""
    rule = ruling.policy.rules[index]
    if began:
        became = f"{adjustment.words}, since {_short(adjustment.when)}"
    elif adjustment.until is not None:
        became = f"as it was, since {_short(adjustment.until)}"
    else:
        became = f"as it was, no longer {_short(adjustment.when)}"
    return f"{ruling.source}: {rule.kind} {_short(ruling.texts[index])}: {became}{_bracketed(values)}"


def because(adjustment: Adjustment, active: Active) -> str:
    """Why a constraint is not as it was written: for people."""
    return f"{adjustment.words}, since {_short(adjustment.when)}{_bracketed(active.values)}"


def _bracketed(values: str) -> str:
    return f" ({values})" if values else ""


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _SHOWN else one_line[: _SHOWN - 1] + "…"
