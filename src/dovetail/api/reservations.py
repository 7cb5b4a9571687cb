"""Routes of reservations: capacity of a node held back for a while."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from dovetail.api.body import SOURCE, model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.replies import Json
from dovetail.model.complaint import Complaint, Invalid
from dovetail.model.quantity import Duration
from dovetail.model.record import ReservationRecord
from dovetail.model.resources import SLOTS, write_amount
from dovetail.model.resources import Request as Resources
from dovetail.model.strict import Name, Strict

router = APIRouter(prefix="/reservations", tags=["reservations"])


class NewReservation(Strict):
    node: Name
    resources: Resources
    duration: Annotated[Duration, Field(gt=0)]
    holder: Annotated[str, Field(max_length=200)] = ""


def _shown(record: ReservationRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "node": record.node,
        "resources": {name: write_amount(name, amount) for name, amount in record.amounts.items()},
        "until": record.until,
        "holder": record.holder,
    }


@router.post("", openapi_extra=takes(NewReservation), status_code=201)
async def reserve(request: Request) -> Response:
    """Hold free capacity back; nothing is placed on it until the time is over or it is released."""
    wanted = await model_in(request, NewReservation)
    amounts = {name: amount for name, amount in wanted.resources.amounts().items() if name != SLOTS}
    if not amounts:
        raise Invalid([Complaint(SOURCE, None, "resources", "is empty; say how much to hold, such as cpu: 4")])
    plane = plane_of(request)
    id_ = await plane.reserve(wanted.node, amounts, wanted.duration, wanted.holder)
    return Json(_shown(plane.engine.state.reservations[id_]), 201)


@router.get("")
async def reservations(request: Request) -> Response:
    held = plane_of(request).engine.state.reservations
    return Json({"items": [_shown(record) for record in held.values()]})


@router.delete("/{id}", status_code=204)
async def release(request: Request, id_: Annotated[int, Path(alias="id", ge=1, le=2**62)]) -> Response:
    """Let it go before its time."""
    await plane_of(request).release(id_)
    return Response(status_code=204)
