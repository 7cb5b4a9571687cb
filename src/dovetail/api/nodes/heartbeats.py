"""Route of heartbeats: the agent of a registered node reports what runs there, and learns what to run and to stop.

`backends.registered.protocol` states the rules that an agent must keep.
"""

from typing import Annotated, Literal

from fastapi import Request
from pydantic import Field

from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json
from dovetail.backends.contract import Assignment
from dovetail.backends.registered.protocol import TaskReport
from dovetail.model.resources import Capacity
from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import Strict
from dovetail.responses.nodes import NodeOrders, RunOrder

router = Routes(prefix="/nodes", tags=["nodes"])


class MeasuredUse(Capacity):
    """What is in use on the node, as measured there."""

    slots: Count = 0


class Reported(Strict):
    key: Annotated[str, Field(pattern=r"^\d{1,18}\.\d{1,9}\.\d{1,9}$")]
    state: Literal["running", "finished"]
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    reason: Annotated[str, Field(max_length=1000)] = ""


class Heartbeat(Strict):
    used: MeasuredUse | None = None
    tasks: Annotated[list[Reported], Field(max_length=10_000)] = []


@router.post("/{name}/heartbeat", openapi_extra=takes(Heartbeat, required=False))
async def heartbeat(request: Request, name: str) -> Json[NodeOrders]:
    """Both lists of the answer are repeated until the node has reported what they ask for."""
    heard = await model_in(request, Heartbeat)
    reports = [TaskReport(task.key, task.state, task.exit_code, task.reason) for task in heard.tasks]
    used = None if heard.used is None else heard.used.amounts()
    reply = await plane_of(request).nodes.heartbeat(name, used, reports)
    return Json({"run": [_order(assignment) for assignment in reply.run], "stop": reply.stop})


def _order(assignment: Assignment) -> RunOrder:
    spec = assignment.spec
    return {
        "key": assignment.key,
        "namespace": spec.namespace,
        "name": spec.name,
        "replica": assignment.task.replica,
        "replicas": spec.replicas,
        "run": spec.run.model_dump(mode="json", exclude_defaults=True),
        "limits": spec.limits.model_dump(mode="json", exclude_none=True),
        "deadline": spec.deadline.model_dump(mode="json", exclude_none=True),
        "grace_s": spec.disruption.grace,
        "devices": list(assignment.devices),
    }
