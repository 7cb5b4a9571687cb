"""Several tasks placed one after the other in a trial, each on its best node given those before it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from dovetail.engine.state.engine_state import EngineState
from dovetail.model.reason import Explanation
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice


@dataclass(slots=True)
class TrialResult:
    """A row and its explanation for each task; or those that found a node, and why the next one did not."""

    choices: list[Choice]
    refusal: Explanation | None = None


class TrialSubject(NamedTuple):
    """Whose tasks they are: a live workload's, or those of one that is only asked about."""

    id: int
    shape: Shape
    identity: TaskIdentity


def one_by_one(state: EngineState, subject: TrialSubject, request: Request, replicas: list[int]) -> TrialResult:
    pipeline, cluster = state.pipelines[subject.shape.profile], state.cluster
    cursor = pipeline.cursor
    service, gpus = subject.shape.service_key, subject.shape.gpus
    found: list[Choice] = []
    refusal = None
    with cluster.trial():
        for replica in replicas:
            task = TaskId(subject.id, replica)
            choice = pipeline.decide(request, str(task), repeats=len(replicas) > 1)
            if choice.row is None:
                refusal = choice.explanation
                break
            found.append(choice)
            placed = (task, choice.row, request.column, service)
            cluster.place(*placed, identity=subject.identity, gpus=gpus, slots=choice.slots)
            pipeline.placed(request, choice.row)
            if request.promised is not None:
                request = replace(request, promised=request.promised.without(choice.row, request.column))
    pipeline.cursor = cursor
    if refusal is not None:
        words = f"{len(replicas)} tasks must start together and {len(found)} fit: {refusal.message}"
        refusal = replace(refusal, message=words)
    return TrialResult(found, refusal)
