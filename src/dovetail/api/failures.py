"""Routes of failures: an operator says that a node, a switch or a whole domain is gone."""

from typing import Annotated, Self

from fastapi import APIRouter, Request
from pydantic import Field, model_validator
from starlette.responses import Response

from dovetail.api.body import model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.nodes import Reason
from dovetail.api.replies import Json
from dovetail.api.workloads import MOST_ROWS
from dovetail.control.plane import ControlPlane
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.affinity import HOST, Level

router = APIRouter(prefix="/failures", tags=["nodes"])


class Failure(Strict):
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


@router.post("", openapi_extra=takes(Failure), status_code=201)
async def fail(request: Request) -> Response:
    """All its nodes are cordoned, what ran there is lost, and gangs that lost tasks are made whole where that can be
    done. `recoveries` says for each of those what is done at once. `uncordon` brings a node back."""
    plane = plane_of(request)
    failure = await model_in(request, Failure)
    level, name = (HOST, failure.node) if failure.node is not None else (failure.level, failure.name)
    assert level is not None
    assert name is not None
    before = await plane.read(plane.store.newest_history)
    lost = await plane.nodes.fail(level, name, failure.reason)
    return Json({"level": level, "name": name, "nodes": lost, "recoveries": await _recoveries(plane, before)}, 201)


async def _recoveries(plane: ControlPlane, after: int) -> list[str]:
    """Lines about recoveries in the history since then."""
    found: list[str] = []
    while True:
        lines = await plane.read(plane.store.history, None, None, after, MOST_ROWS)
        found += [line["message"] for line in lines if line["kind"] == "recovery"]
        if len(lines) < MOST_ROWS:
            return found
        after = lines[-1]["seq"]
