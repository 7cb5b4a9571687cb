"""Placing tasks that have to start together: all of them at once, or none.

One implementation for the gang of one workload and for groups of several (`groups`). What follows a refusal is the same
for single tasks, and is here too: fewer preferences, then preemption. Guarantees: no task holds a node while others of
its group wait. A group that lost tasks with their nodes keeps the others while replacements fit near them, and gives
everything back when they do not.
"""

from collections import Counter
from dataclasses import replace
from itertools import chain

from dovetail.engine.gangs.communication import add_notes, estimate_for
from dovetail.engine.gangs.group_trial import GroupTrial, Tried, attempts, try_parts
from dovetail.engine.gangs.requests import record_refusal, unpromised_request
from dovetail.engine.lifecycle.task_lifecycle import give_nodes_back
from dovetail.engine.preemption.displacing import displace, forgo
from dovetail.engine.preemption.preempting import may_displace
from dovetail.engine.scheduling.placement_committer import GangStarts, PlacementCommitter
from dovetail.engine.scheduling.reordering import short_work_refusal
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import GroupPart, Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.requests.shape import Shape

#: A search for victims costs about as much as this many decisions.
_SEARCH_COST = 50


def place_group(
    state: EngineState, leader: Work, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """Returns the decisions made, and why the group cannot start."""
    group = leader.group
    assert group is not None
    parts = group.parts()
    refusal = must_wait(state, parts)
    if refusal is None:
        asked = attempts(state, parts, now)
        tried = try_parts(state, asked, begun=bool(group.firm))
        if tried.refusal is None:
            return _commit(state, asked, tried, now, commands), None
        refusal = tried.refusal
    made, refusal = relax_or_preempt(state, parts, refusal, now, commands)
    if refusal is not None:
        if group.firm and refusal.outcome != Outcome.PREEMPTING:
            commands += give_nodes_back(state, group, refusal.message)
        for part in parts:
            record_refusal(state, part.work, refusal, now)
    return made, refusal


def must_wait(state: EngineState, parts: list[GroupPart]) -> Explanation | None:
    """Why these tasks may not start however much is free: a quota, or the share that long work leaves to short work."""
    asked: dict[tuple[int, str | None], Counter[str]] = {}
    for work, replicas in parts:
        if state.accounts.limited[work.queue]:
            amounts = asked.setdefault((work.queue, work.terms.user), Counter())
            amounts.update({name: amount * len(replicas) for name, amount in work.shape.amounts})
    for (queue, user), amounts in asked.items():
        over = state.accounts.quotas.over(queue, user, dict(amounts))
        if over is not None:
            return _waits(state, parts[0].work.shape, Outcome.OVER_QUOTA, over.message)
    if state.pending.dynamic_orderings:
        for work, replicas in parts:
            why = short_work_refusal(state, work, len(replicas))
            if why is not None:
                return _waits(state, work.shape, Outcome.LANE_KEPT, why)
    return None


def _waits(state: EngineState, shape: Shape, outcome: Outcome, words: str) -> Explanation:
    return Explanation(outcome, words, shape.profile, len(state.cluster.rows), ())


def relax_or_preempt(
    state: EngineState, parts: list[GroupPart], refusal: Explanation, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """After a refusal: place the tasks without some of their preferences, or else preempt. Returns the cost of that,
    counted in decisions, and why the tasks still wait."""
    if refusal.outcome == Outcome.OVER_QUOTA:
        return 1, refusal
    if refusal.outcome != Outcome.LANE_KEPT and _place_relaxed(state, parts, now, commands):
        return 2, None
    work = parts[0].work
    if not may_displace(state, work.shape, work.rank):
        forgo(state, work)
        return 1, replace(refusal, outcome=Outcome.PREEMPTING, message=work.message) if work.displacing else refusal
    return 1 + _SEARCH_COST, displace(state, parts, refusal, now, commands)


def _place_relaxed(state: EngineState, parts: list[GroupPart], now: float, commands: list[Command]) -> bool:
    """Give up the preferences that are insisted on: of each part, those of one priority at a time."""
    shapes = [part.work.shape for part in parts]
    given_up: dict[str, None] = {}
    begun = parts[0].work.group is not None and bool(parts[0].work.group.firm)
    while any(shape.insists for shape in shapes):
        for i, shape in enumerate(shapes):
            if shape.insists:
                shapes[i], words = shape.relaxed()
                given_up |= dict.fromkeys(words)
        asked = attempts(state, parts, now, shapes)
        tried = try_parts(state, asked, begun=begun)
        if tried.refusal is None:
            add_notes(chain(*tried.choices), f"gave up: {'; '.join(given_up)}")
            _commit(state, asked, tried, now, commands)
            return True
    return False


def _commit(state: EngineState, asked: list[GroupTrial], tried: Tried, now: float, commands: list[Command]) -> int:
    """Place what was tried. Returns how many tasks that were."""
    rows = [choice.row for choice in chain(*tried.choices) if choice.row is not None]
    estimate = estimate_for(state, rows)
    if estimate is not None:
        add_notes(chain(*tried.choices), str(estimate))
    group = state.work[asked[0].subject.id].group
    starts = None if group is None else GangStarts(state, rows)
    made = 0
    for attempt, choices in zip(asked, tried.choices, strict=True):
        work = state.work[attempt.subject.id]
        request = unpromised_request(state, work, attempt.subject.shape)
        committer = PlacementCommitter(state, work, request, now, commands, starts)
        for choice in choices:
            committer.take(choice)
        made += committer.close()
    if group is not None:
        group.seeks_replacements = False
        for work in group.members.values():  # the others may follow one by one
            state.pending.enqueue(work)
    return made
