"""Placing several tasks at once: all of them are tried on the real state and taken back; only a whole gang is placed.

So nobody holds room while the rest of the gang waits, and two gangs cannot each hold half of what both need.
"""

from dataclasses import dataclass, replace

from dovetail.engine.state import EngineState
from dovetail.engine.work import Work
from dovetail.model.reason import Explanation
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline import Choice


@dataclass(slots=True)
class Together:
    """A row and its explanation for each task, or how many found room and why the next one did not."""

    choices: list[Choice]
    refusal: Explanation | None = None


def try_together(state: EngineState, work: Work, request: Request, replicas: list[int]) -> Together:
    """Where these tasks would go, one after the other; nothing is changed."""
    pipeline, cluster = state.pipelines[work.shape.profile], state.cluster
    cursor = pipeline.cursor
    found: list[Choice] = []
    refusal = None
    with cluster.trial():
        for replica in replicas:
            task = TaskId(work.id, replica)
            choice = pipeline.decide(request, str(task), repeats=len(replicas) > 1)
            if choice.row is None:
                refusal = choice.explanation
                break
            found.append(choice)
            cluster.place(task, choice.row, request.column, work.shape.service_key, badge=work.badge)
            pipeline.placed(request, choice.row)
            if request.promised is not None:
                request = replace(request, promised=request.promised.without(choice.row, request.column))
    pipeline.cursor = cursor
    if refusal is not None:
        refusal.message = f"{len(replicas)} tasks must start together and {len(found)} have room: {refusal.message}"
    return Together(found, refusal)
