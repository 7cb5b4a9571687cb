"""Plans: where work would go, asked of the same engine that decides, with the same checks that a submission gets."""

import asyncio
from typing import Any

from dovetail.api import answers
from dovetail.control.errors import Conflict
from dovetail.control.plane import ControlPlane
from dovetail.model.complaint import Complaint, Invalid
from dovetail.model.workload import Workload

MOST_WORKLOADS = 500  # of one plan: each is decided for real, and the loop waits meanwhile
MOST_TASKS = 1000  # of one workload


def check(plane: ControlPlane, specs: list[Workload]) -> None:
    """Raises Invalid: unknown profile or scheduler, too many replicas."""
    plane.check(specs)


def check_names(plane: ControlPlane, specs: list[Workload]) -> None:
    """Raises Conflict for names that unfinished work has."""
    directory = plane.engine.state.cluster.placements.directory
    taken = [f"{spec.namespace}/{spec.name}" for spec in specs if (spec.namespace, spec.name) in directory]
    if taken:
        shown = ", ".join(taken[:5]) + (f" and {len(taken) - 5} more" if len(taken) > 5 else "")
        raise Conflict(f"already there and not finished: {shown}; choose another name")


async def plans(plane: ControlPlane, specs: list[Workload]) -> list[dict[str, Any]]:
    """Each workload by itself, on the cluster as it is. Others get their turn between two."""
    if len(specs) > MOST_WORKLOADS:
        words = f"{len(specs)} workloads; a plan takes at most {MOST_WORKLOADS} at once"
        raise Invalid([Complaint("request body", None, "", words)])
    found = []
    for spec in specs:
        found.append(_plan(plane, spec))
        await asyncio.sleep(0)
    return found


def _plan(plane: ControlPlane, spec: Workload) -> dict[str, Any]:
    tasks = plane.questions.plan(spec, MOST_TASKS)
    placed = sum(task.node is not None for task in tasks)
    return {
        "name": spec.name,
        "namespace": spec.namespace,
        "tasks": [
            {"replica": task.replica, "node": task.node, "explanation": task.explanation.to_dict()} for task in tasks
        ],
        "placed": placed,
        "unplaced": spec.replicas - placed if tasks[-1].node is None else 0,
        "answer": answers.planned(spec.name, spec.replicas, tasks),
    }
