"""Route of failures: an operator reports that a node or a whole domain has failed."""

from typing import Annotated, Self

from fastapi import Request
from pydantic import Field, model_validator

from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.parameters import MOST_ROWS, Reason
from dovetail.api.protocol.replies import CreatedJson
from dovetail.control.plane import ControlPlane
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.affinity import HOST, Level
from dovetail.responses.nodes import FailureReport

router = Routes(prefix="/failures", tags=["nodes"])


class ReportedFailure(Strict):
    """A domain by `level` and `name`, or one `node`."""

    level: Level | None = None
    name: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    node: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    reason: Reason = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.node is None) == (self.level is None or self.name is None):
            raise ValueError("give level and name of a domain, or node")
        return self


@router.post("", openapi_extra=takes(ReportedFailure))
async def fail(request: Request) -> CreatedJson[FailureReport]:
    """Cordon the nodes, give up the tasks that ran there, and recover gangs that lost tasks where possible.

    `recoveries` says for each of those gangs what is done at once. `uncordon` brings a node back.
    """
    plane = plane_of(request)
    failure = await model_in(request, ReportedFailure)
    level, name = (HOST, failure.node) if failure.node is not None else (failure.level, failure.name)
    assert level is not None
    assert name is not None
    before = await plane.read(plane.store.newest_history)
    lost = await plane.nodes.fail(level, name, failure.reason)
    recoveries = await _recoveries(plane, before)
    return CreatedJson({"level": level, "name": name, "nodes": lost, "recoveries": recoveries})


async def _recoveries(plane: ControlPlane, after: int) -> list[str]:
    """The lines about recoveries in the history after this one."""
    found: list[str] = []
    while True:
        lines = await plane.read(plane.store.history, None, None, after, MOST_ROWS)
        found += [line["message"] for line in lines if line["kind"] == "recovery"]
        if len(lines) < MOST_ROWS:
            return found
        after = lines[-1]["seq"]
