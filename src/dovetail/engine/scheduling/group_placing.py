"""Deciding for a group: all its tasks that are to start together are placed at once, or none is.

Guarantees: as for a gang, nobody holds room while the rest waits. A group that lost tasks with their nodes keeps the
others while replacements can be found near them, and gives everything back when they cannot.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.engine.gangs.communication import note_communication
from dovetail.engine.gangs.gang_trial import places_to_clear, try_party
from dovetail.engine.gangs.group_trial import GroupTrial, Tried, hardest_first, only_among, put, try_parts
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.lifecycle.task_lifecycle import stop_all
from dovetail.engine.preemption.displacing import displace_by
from dovetail.engine.preemption.preempting import PreemptionPlan, PreemptionRequest, find_room, may_displace
from dovetail.engine.scheduling.placement_committer import PlacementCommitter
from dovetail.engine.scheduling.reordering import short_work_refusal
from dovetail.engine.scheduling.requests import request_of, say
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.groups import Group, GroupPart
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.preemption import FREE, Cost


def place_group(
    state: EngineState, leader: Work, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """Decisions made, and why it cannot start."""
    group = leader.group
    assert group is not None
    parts = group.parts()
    refusal = _over_quota(state, parts) or _keeps_lane(state, parts)
    if refusal is None:
        tried = _tried(state, group, parts, now)
        if tried.refusal is None:
            return _take(state, parts, tried, now, commands), None
        refusal = tried.refusal
        if may_displace(state, leader.shape, leader.rank):
            refusal = displace_by(state, leader, refusal, now, commands, lambda: _room(state, parts, now))
    if group.firm and refusal.outcome != Outcome.PREEMPTING:
        commands += _give_back(state, group, refusal)
    for part in parts:
        say(state, part.work, refusal, now)
    return 1, refusal


def _tried(state: EngineState, group: Group, parts: list[GroupPart], now: float) -> Tried:
    """With everything they wish for, or else without what they can do without."""
    begun = bool(group.firm)
    tried = try_parts(state, attempts(state, parts, now), begun=begun)
    if tried.refusal is not None and any(part.work.shape.insists for part in parts):
        eased = try_parts(state, attempts(state, parts, now, least=True), begun=begun)
        if eased.refusal is None:
            for choice in (choice for choices in eased.choices for choice in choices):
                choice.explanation.notes = (*choice.explanation.notes, "gave up what its group only wished for")
            return eased
    return tried


def attempts(state: EngineState, parts: list[GroupPart], now: float, *, least: bool = False) -> list[GroupTrial]:
    def attempt(part: GroupPart) -> GroupTrial:
        work = part.work
        shape = work.shape.least if least else work.shape

        def request() -> Request:
            return request_of(state, work, now, shape)

        return GroupTrial(
            TrialSubject(work.id, shape, work.identity), part.replicas, request, state.victim_info(work, now)
        )

    return [attempt(part) for part in parts]


def _take(state: EngineState, parts: list[GroupPart], tried: Tried, now: float, commands: list[Command]) -> int:
    note_communication(state, [choice for choices in tried.choices for choice in choices])
    made = 0
    for part, choices in zip(parts, tried.choices, strict=True):
        taking = PlacementCommitter(state, part.work, state.asked(part.work.shape, part.work.identity), now, commands)
        for choice in choices:
            taking.take(choice)
        made += taking.close()
    group = parts[0].work.group
    assert group is not None
    group.mending = False
    for work in group.members.values():  # the others may follow one by one
        state.pending.enqueue(work)
    return made


def _give_back(state: EngineState, group: Group, refusal: Explanation) -> list[Command]:
    group.mending = False
    why = f"its group fell below {group.least} tasks: {refusal.message}"
    return [command for work in group.members.values() for command in stop_all(state, work, why, evicting=True)]


# --- when it does not fit ------------------------------------------------------------------------------------


def _over_quota(state: EngineState, parts: list[GroupPart]) -> Explanation | None:
    asked: dict[tuple[int, str | None], Counter[str]] = {}
    for part in parts:
        work = part.work
        amounts = asked.setdefault((work.queue, work.terms.user), Counter())
        amounts.update({name: amount * len(part.replicas) for name, amount in work.shape.amounts})
    for (queue, user), amounts in asked.items():
        over = state.accounts.quotas.over(queue, user, dict(amounts)) if state.accounts.limited[queue] else None
        if over is not None:
            return _waits(state, parts[0].work.shape, Outcome.OVER_QUOTA, over.message)
    return None


def _keeps_lane(state: EngineState, parts: list[GroupPart]) -> Explanation | None:
    if state.pending.dynamic_orderings:
        for part in parts:
            why = short_work_refusal(state, part.work, len(part.replicas))
            if why is not None:
                return _waits(state, part.work.shape, Outcome.LANE_KEPT, why)
    return None


def _waits(state: EngineState, shape: Shape, outcome: Outcome, words: str) -> Explanation:
    return Explanation(outcome, words, shape.profile, len(state.cluster.rows), ())


def _room(state: EngineState, parts: list[GroupPart], now: float) -> PreemptionPlan | None:
    """The cheapest victims that make room for all parts, in one domain if they have to be in one."""
    tried = attempts(state, parts, now, least=True)
    first = tried[hardest_first(state, tried)[0]]
    request = replace(first.request(), promised=None)
    best: PreemptionPlan | None = None
    for place in places_to_clear(state, first.party, request, len(first.replicas)):
        found = _cleared(state, parts, tried, place.among, now)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    return best


def _cleared(
    state: EngineState, parts: list[GroupPart], tried: list[GroupTrial], among: B1 | None, now: float
) -> PreemptionPlan | None:
    """Part after part, each with the victims it needs when those before it are placed."""
    cluster = state.cluster
    victims: list[TaskId] = []
    kept: dict[int, F8] = {}
    cost: Cost | None = None
    with cluster.trial():
        for task in [task for task in state.stopping if task in cluster.placements.by_task]:
            cluster.remove(task)
        for index in hardest_first(state, tried):
            part, work = tried[index], parts[index].work
            request = only_among(replace(part.request(), promised=None), among)
            found = try_party(state, part.party, request, part.replicas, begun=False)
            if found.refusal is not None:
                claim = PreemptionRequest(part.party.shape, work.rank, work.queue, len(part.replicas), work.id)
                room = find_room(state, claim, request, now)
                if room is None:
                    return None
                cost = room.cost if cost is None else cost.with_more(room.cost)
                victims += room.tasks
                for task in room.tasks:
                    cluster.remove(task)
                found = try_party(state, part.party, request, part.replicas, begun=False)
                if found.refusal is not None:
                    return None
            for choice in put(state, part, request, found.choices):
                assert choice.row is not None
                kept[choice.row] = kept.get(choice.row, np.zeros_like(request.column)) + request.column
    if cost is None and not state.stopping:
        return None
    return PreemptionPlan(tuple(victims), tuple(kept.items()), cost or FREE)
