"""Plans for workloads of one group that are not submitted yet: all of them start together."""

from dovetail.engine.gangs.group_trial import GroupTrial, try_parts
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.planning.plan import PlannedTask, PlanTrial, at_once, identity_for, planned_task
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.workloads.workload import Workload

_FIRST_TRIAL = -10  # ids below are never real


def plan_group(state: EngineState, specs: list[Workload], most: int, now: float) -> list[list[PlannedTask]]:
    """The tasks of each workload, at most so many of each; of all of them only the reason, if one has no place. Raises
    what routing raises."""
    parts = [_part(state, spec, _FIRST_TRIAL - index, most, now) for index, spec in enumerate(specs)]
    tried = try_parts(state, parts, begun=False)
    if tried.refusal is not None:
        return [[PlannedTask(0, None, tried.refusal)] for _ in specs]
    return [[planned_task(state, i, choice) for i, choice in enumerate(choices)] for choices in tried.choices]


def _part(state: EngineState, spec: Workload, id_: int, most: int, now: float) -> GroupTrial:
    shape = state.terms(spec).shape
    replicas = list(range(min(at_once(spec), most)))
    request = PlanTrial(state, spec, shape, now).request
    return GroupTrial(TrialSubject(id_, shape, identity_for(spec, shape)), replicas, request)
