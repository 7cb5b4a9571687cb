"""Preemption for a gang of pods: each pod in turn gets a node as kube-scheduler would nominate one, in one trial.

kube-scheduler has no rule for gangs. Pods that fit are placed, and victims are sought for the next one that does not;
at the end the whole gang is tried without the victims. Guarantees: no task is stopped unless every pod of the gang then
fits, with its topology and its rules about other pods. Budgets are charged with the victims of all its pods together.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.placements import Placement
from dovetail.engine.gangs.gang_trial import places_to_clear, try_subject
from dovetail.engine.gangs.group_trial import GroupTrial, attempts, hardest_first, only_among, place_choices, try_parts
from dovetail.engine.gangs.requests import unpromised_request
from dovetail.engine.preemption.preempting import PreemptionPlan
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import GroupPart, Work
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.preemption.cheapest import cheapest
from dovetail.placement.preemption.cost import FREE, Cost
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.nomination import Budgets, NominatedPlacements, Nomination
from dovetail.placement.preemption.victim_gangs import VictimGangs

Victims = dict[TaskId, Placement]
_NOMINATED = -1_000_000  # ids below are never real


def gangs_seen_by(state: EngineState, work: Work) -> VictimGangs:
    """The gangs that a pod may take tasks from."""

    def need(task: TaskId) -> int:
        group = state.work[task.workload].group
        return 0 if group is None else group.needed

    own = -1 if work.group is None else work.group.id
    return VictimGangs(state.victim_table, work.terms.priority or 0, need, own, state.stopping)


def nominate_gang(
    state: EngineState, parts: list[GroupPart], coming: NominatedPlacements, now: float
) -> PreemptionPlan | None:
    """The victims that free enough for all pods, in one domain if they have to be in one. `coming`: pods that are
    nominated to a node and at least as urgent."""
    tried = [
        one._replace(request=partial(unpromised_request, state, part.work, one.subject.shape))
        for one, part in zip(attempts(state, parts, now, [part.work.shape.least for part in parts]), parts, strict=True)
    ]
    first = tried[hardest_first(state, tried)[0]]
    alike = sum(len(one.replicas) for one in tried if one.subject.shape == first.subject.shape)
    places = places_to_clear(state, first.subject, first.request(), alike)
    return cheapest(places, lambda place: _clear(state, parts, tried, coming, place.among))


def _clear(
    state: EngineState, parts: list[GroupPart], tried: list[GroupTrial], coming: NominatedPlacements, among: B1 | None
) -> PreemptionPlan | None:
    allowed = [one._replace(request=partial(_among, one, among)) for one in tried]
    with _others_settled(state, coming):
        found = _victims(state, parts, allowed)
    if found is None or not (found[0] or state.stopping):
        return None
    victims, violations = found
    with _others_settled(state, coming):
        for task in victims:
            state.cluster.remove(task)
        group = parts[0].work.group
        together = try_parts(state, allowed, begun=group is not None and bool(group.firm))
        if together.refusal is not None:
            return None
    kept: dict[int, F8] = {}
    members: dict[int, int] = {}
    for one, choices in zip(allowed, together.choices, strict=True):
        column = one.request().column
        for choice in choices:
            assert choice.row is not None
            kept[choice.row] = kept.get(choice.row, np.zeros_like(column)) + column
            members[one.subject.id] = choice.row
    priorities = [placement.victim_info.priority for placement in victims.values()]
    cost = Cost(max(priorities), violations, 0, 0, 0, len(victims)) if victims else FREE
    return PreemptionPlan(tuple(victims), tuple(sorted(kept.items())), cost, members)


def _among(one: GroupTrial, among: B1 | None) -> Request:
    return only_among(one.request(), among)


@contextmanager
def _others_settled(state: EngineState, coming: NominatedPlacements) -> Iterator[None]:
    """A trial in which tasks that are stopping are gone, and nominated pods are on their nodes."""
    cluster = state.cluster
    with cluster.trial():
        for task in [task for task in state.stopping if task in cluster.placements.by_task]:
            cluster.remove(task)
        for number, placement in enumerate(one for row in coming.rows for one in coming.on(row).values()):
            victim_info = placement.victim_info._replace(preemptible=False, unit=-1)
            pseudo = TaskId(_NOMINATED - number, 0)
            cluster.place(pseudo, placement.row, placement.column, None, victim_info, placement.identity)
        yield


def _victims(state: EngineState, parts: list[GroupPart], tried: list[GroupTrial]) -> tuple[Victims, int] | None:
    """The victims of all pods, and how many of them violate a budget; inside a trial of the caller. None: preemption
    does not help."""
    victims: Victims = {}
    violations = 0
    for index in hardest_first(state, tried):
        for replica in tried[index].replicas:
            one, work = tried[index]._replace(replicas=[replica]), parts[index].work
            request = one.request()
            found = try_subject(state, one.subject, request, one.replicas, begun=False)
            if found.refusal is not None:
                nomination = _nomination(state, work, request, victims)
                if nomination is None:
                    return None
                violations += nomination.violations
                for task in nomination.victims:
                    victims[task] = state.cluster.remove(task)
                here = only_among(request, np.arange(state.cluster.width) == nomination.row)
                found = try_subject(state, one.subject, here, one.replicas, begun=False)
                if found.refusal is not None:
                    return None
            place_choices(state, one, request, found.choices)
    return victims, violations


def _nomination(state: EngineState, work: Work, request: Request, gone: Victims) -> Nomination | None:
    if not work.terms.may_preempt:
        return None
    tables = state.cluster, state.victim_table, state.pipelines[work.shape.profile].evaluator
    budgets = _charged(state.pod_budgets, gone)
    return nominate(*tables, request, work.terms.priority or 0, budgets, gangs=gangs_seen_by(state, work))


def _charged(budgets: Sequence[DisruptionBudget], gone: Victims) -> list[DisruptionBudget]:
    """The budgets after these evictions."""
    taken = [0] * len(budgets)
    whose = Budgets(budgets)
    for task, placement in gone.items():
        for i in whose.of(placement.identity):
            taken[i] += task not in budgets[i].exempt
    return [one._replace(allowed=one.allowed - less) for one, less in zip(budgets, taken, strict=True)]
