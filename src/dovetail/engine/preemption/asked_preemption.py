"""A preemption that somebody asked for: these tasks are stopped for work that waits, whatever their priority.

Guarantees: nothing is stopped that must not be disturbed, that a disruption budget protects, or without which the
waiting tasks would still not fit. What the victims free is kept for the work, as in every preemption; a victim that is
more urgent may preempt in turn. Leaves to others: whom to stop (`suggestions.measures`).
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.engine.backfill.backfilling import is_clearing
from dovetail.engine.gangs.gang_trial import try_together
from dovetail.engine.gangs.requests import record_refusal, request_of, unpromised_request
from dovetail.engine.preemption.displacing import describe_victims
from dovetail.engine.preemption.preempting import PreemptionPlan, preempt
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.event import PreemptionAsked
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.task import TaskId
from dovetail.model.text.listing import count
from dovetail.placement.preemption.cost import FREE

#: Waiting tasks for which others may be stopped at once: they are placed in a trial, within one event.
MOST_TASKS = 64


def preemption_asked(state: EngineState, event: PreemptionAsked, now: float) -> list[Command]:
    """Ignored where it would not help now: the caller has asked first."""
    work = state.work.get(event.workload)
    found = "" if work is None else clearing_plan(state, work, event.tasks, now)
    if work is None or isinstance(found, str):
        return []
    return make_room(state, work, found, now)


def make_room(
    state: EngineState, work: Work, found: PreemptionPlan, now: float, why: str = "", gain: str = ""
) -> list[Command]:
    """Stop the victims, and say so. `why` is told to them, `gain` to the work."""
    commands = preempt(state, work, found, now, why)
    work.displacing = True
    victims = describe_victims(state, found.tasks)
    words = f"frees capacity for {count(tried_at_once(work), 'task')}{gain}: waits for {victims}"
    nodes = len(state.cluster.rows)
    record_refusal(state, work, Explanation(Outcome.PREEMPTING, words, work.shape.profile, nodes, ()), now)
    return commands


def clearing_plan(
    state: EngineState, work: Work, victims: tuple[TaskId, ...], now: float, *, over_promises: bool = False
) -> PreemptionPlan | str:
    """Where the waiting tasks would go once the victims are gone; or why not, in words. `over_promises`: also to
    capacity that is promised to others, who then lose the promise."""
    why_not = _not_now(state, work) or _not_these(state, work, victims)
    if why_not:
        return why_not
    replicas = sorted(work.waiting)[: tried_at_once(work)]
    held = [state.work[task.workload].held for task in victims]
    kept: dict[int, F8] = {}
    with state.cluster.trial(), state.accounts.usage.without(held):
        for task in victims:
            state.cluster.remove(task)
        amounts = {name: amount * len(replicas) for name, amount in work.shape.amounts}
        over = state.accounts.quotas.over(work.queue, work.terms.user, amounts)
        if over is not None:
            return over.message
        request = unpromised_request(state, work) if over_promises else request_of(state, work, now)
        tried = try_together(state, work, request, replicas)
        if tried.refusal is not None:
            return f"{work.shown_name} would still not fit: {tried.refusal.message}"
        for choice in tried.choices:
            assert choice.row is not None
            kept[choice.row] = kept.get(choice.row, np.zeros_like(request.column)) + request.column
    return PreemptionPlan(victims, tuple(kept.items()), FREE)


def tried_at_once(work: Work) -> int:
    """For how many waiting tasks others are stopped."""
    return min(work.at_once, MOST_TASKS)


def _not_now(state: EngineState, work: Work) -> str:
    name = work.shown_name
    if not work.waiting:
        return f"no task of {name} waits for a node"
    if not work.is_ready:
        return f"{name} waits for something else than room: {work.message or work.reason or 'it may not start yet'}"
    if work.group is not None and not work.group.is_solo:
        return f"{name} starts together with the other workloads of group {work.group.name}, which was not tried"
    if is_clearing(state, work):
        return f"room is being made for {name} already: {work.message}"
    return ""


def _not_these(state: EngineState, work: Work, victims: Iterable[TaskId]) -> str:
    stopped: Counter[int] = Counter()
    for task in victims:
        other, placement = state.work.get(task.workload), state.cluster.placements.by_task.get(task)
        name = f"task {task}" if other is None else f"{other.shown_name}.{task.replica}"
        if other is None or placement is None:
            return f"{name} holds no node"
        if other is work:
            return f"{name} is a task of {work.shown_name} itself"
        if task in state.stopping:
            return f"{name} is stopping already"
        if not placement.victim_info.preemptible:
            return f"{name} must not be disturbed (disruption.allowed: false)"
        stopped[other.id] += 1
        if other.id in state.budgeted and stopped[other.id] > max(0, other.disruptions_left):
            return f"{name}: no more tasks of {other.shown_name} may be disturbed at once (disruption.max_unavailable)"
    return "" if stopped else "no task is named that would be stopped"
