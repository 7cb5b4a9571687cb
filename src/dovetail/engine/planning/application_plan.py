"""Plans for workloads that are not submitted yet and exchange traffic: where they would go together.

Guarantees: the search that places such work for real answers here too, in trials that undo themselves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dovetail.engine.applications.application_trial import ApplicationPlan, try_application
from dovetail.engine.applications.parts import MOST_PAIRS, MOST_TASKS, ApplicationPart
from dovetail.engine.gangs.group_trial import GroupTrial
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.pieces import Pieces
from dovetail.engine.planning.plan import PlannedTask, PlanTrial, at_once, identity_for, planned_task, within_quota
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.workloads.workload import Workload

_FIRST_TRIAL = -1_000_000  # ids below are never real
Key = tuple[str, str]  # namespace and name


def plan_applications(
    state: EngineState, specs: list[Workload], most: int, now: float
) -> Pieces[dict[Key, list[PlannedTask]]]:
    """The tasks of each workload that is placed with others, at most so many of each; the first task without a node
    ends the list. Raises what routing raises."""
    found: dict[Key, list[PlannedTask]] = {}
    for members in _applications(state, specs, most):
        found |= yield from _planned(state, members, most, now)
    return found


def _applications(state: EngineState, specs: list[Workload], most: int) -> list[list[Workload]]:
    """Those connected by traffic, in the order in which they would be decided."""
    alone = {(spec.namespace, spec.name): spec for spec in specs if _may_join(state, spec)}
    near: dict[Key, list[Key]] = {key: [] for key in alone}
    for key, spec in alone.items():
        for traffic in spec.traffic:
            other = spec.namespace, traffic.to
            if other in alone and other != key:
                near[key].append(other)
                near[other].append(key)
    found: list[list[Workload]] = []
    seen: set[Key] = set()
    for key in alone:
        if key in seen:
            continue
        reached, ripe = {key: None}, [key]
        while ripe:
            new = [other for other in near[ripe.pop()] if other not in reached]
            reached |= dict.fromkeys(new)
            ripe += new
        seen |= set(reached)
        members = [spec for each, spec in alone.items() if each in reached]
        tasks = sum(min(at_once(spec), most) for spec in members)
        pairs = sum(len(spec.traffic) for spec in members)
        if len(members) > 1 and tasks <= MOST_TASKS and pairs <= MOST_PAIRS:
            found.append(sorted(members, key=lambda spec: spec.priority.rank))
    return found


def _may_join(state: EngineState, spec: Workload) -> bool:
    """As `may_be_nominated` of live work. What its quota does not allow is planned by itself, which says so."""
    if spec.gang is not None or spec.after:
        return False
    profile = state.terms(spec).shape.profile
    return state.pipelines[profile].settings.select == "best" and within_quota(state, spec, at_once(spec))[1] is None


def _planned(
    state: EngineState, members: list[Workload], most: int, now: float
) -> Pieces[dict[Key, list[PlannedTask]]]:
    parts = [_part(state, spec, _FIRST_TRIAL - index, most, now) for index, spec in enumerate(members)]
    plan = yield from try_application(state, parts, partial(_known_by_name, state, parts))
    if plan is None:
        return {}
    return {part.key: _tasks(state, plan, index) for index, part in enumerate(parts)}


def _part(state: EngineState, spec: Workload, id_: int, most: int, now: float) -> ApplicationPart:
    shape = state.terms(spec).shape
    replicas = list(range(min(at_once(spec), most)))
    request = PlanTrial(state, spec, shape, now).request
    return ApplicationPart(
        GroupTrial(TrialSubject(id_, shape, identity_for(spec, shape)), replicas, request), spec.replicas
    )


@contextmanager
def _known_by_name(state: EngineState, parts: list[ApplicationPart]) -> Iterator[None]:
    """Scores find related work by name, as they will when it is submitted."""
    directory = state.cluster.placements.directory
    new = {part.key: (part.trial.subject.id, part.replicas) for part in parts if part.key not in directory}
    directory |= new
    try:
        yield
    finally:
        for key in new:
            del directory[key]


def _tasks(state: EngineState, plan: ApplicationPlan, index: int) -> list[PlannedTask]:
    found = []
    for replica, choice in enumerate(plan.choices[index]):
        if choice is None:
            break
        if plan.improves and choice.row is not None:
            choice.explanation = choice.explanation.with_notes(plan.note)
        found.append(planned_task(state, replica, choice))
    return found
