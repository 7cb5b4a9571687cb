"""Routes of reservations: room held on nodes, in domains or by shape, now or later, once or again and again."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dovetail.api.body import model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.replies import Json
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation, Target
from dovetail.model.resources import SLOTS, Amounts, write_amount

router = APIRouter(prefix="/reservations", tags=["reservations"])
Id = Annotated[int, Path(alias="id", ge=1, le=2**62)]


def _shown(record: ReservationRecord) -> dict[str, Any]:
    total: Amounts = {}
    for amounts in record.holds.values():
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return {
        "id": record.id,
        "node": next(iter(record.holds)) if len(record.holds) == 1 else None,
        "nodes": {name: _written(amounts) for name, amounts in sorted(record.holds.items())},
        "target": _in_words(record.target),
        "resources": _written(total),
        "start": record.start,
        "until": record.end,
        "every_s": record.every_s,
        "repeats_until": record.last,
        "tenant": record.tenant,
        "holder": record.holder,
        "status": record.status,
        "message": record.trouble,
    }


def _written(amounts: Amounts) -> dict[str, str | int]:
    return {name: write_amount(name, amount) for name, amount in amounts.items()}


def _in_words(target: Target) -> str:
    """What was asked for: `8 tasks of cpu 4 in rack=r1`, `whole nodes of rack=r1`, `cpu 4 on n1`."""
    written = _written({k: v for k, v in (target.amounts or {}).items() if k != SLOTS})
    amounts = ", ".join(f"{name} {amount}" for name, amount in written.items())
    domain = "=".join(target.domain) if target.domain is not None else ""
    if target.count:
        tasks = f"{target.count} task{'' if target.count == 1 else 's'} of {amounts}"
        where = ", ".join(([domain] if domain else []) + [f"{key}={value}" for key, value in target.selector])
        return f"{tasks} in {where}" if where else tasks
    where = f"each node of {domain}" if domain else ", ".join(target.nodes)
    return f"{amounts or 'everything'} on {where}"


@router.post("", openapi_extra=takes(Reservation), status_code=201)
async def reserve(request: Request) -> Response:
    """Reserve room: from `start` for `duration` nothing is placed there, unless it is of the namespace `tenant`.

    Refused with 409 and the reason (which node lacks what, when, because of whom) when it cannot be met.
    """
    wanted = await model_in(request, Reservation)
    return Json(_shown(await plane_of(request).reservations.reserve(wanted)), 201)


@router.get("")
async def reservations(request: Request) -> Response:
    held = plane_of(request).engine.state.reservations
    return Json({"items": [_shown(record) for record in held.values()]})


@router.get("/{id}")
async def reservation(request: Request, id_: Id) -> Response:
    return Json(_shown(plane_of(request).reservations.get(id_)))


@router.delete("/{id}", status_code=204)
async def release(request: Request, id_: Id) -> Response:
    """Let it go before its time."""
    await plane_of(request).reservations.release(id_)
    return Response(status_code=204)
