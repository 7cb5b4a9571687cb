"""Routes of reservations: capacity held on nodes, in domains or by shape, now or later, once or repeatedly."""

from typing import Annotated

from fastapi import Path, Request

from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation, Target
from dovetail.model.resources import SLOTS, Amounts, write_amount
from dovetail.model.text.listing import counted
from dovetail.responses import ItemList
from dovetail.responses.queues import ReservationRow

router = Routes(prefix="/reservations", tags=["reservations"])
Id = Annotated[int, Path(alias="id", ge=1, le=2**62)]


def _shown(record: ReservationRecord) -> ReservationRow:
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
        tasks = f"{counted(target.count, 'task')} of {amounts}"
        where = ", ".join(([domain] if domain else []) + [f"{key}={value}" for key, value in target.selector])
        return f"{tasks} in {where}" if where else tasks
    where = f"each node of {domain}" if domain else ", ".join(target.nodes)
    return f"{amounts or 'everything'} on {where}"


@router.post("", openapi_extra=takes(Reservation))
async def reserve(request: Request) -> CreatedJson[ReservationRow]:
    """Reserve capacity: from `start` for `duration` only work of the namespace `tenant` may use it.

    Refused with 409 and the reason (which node lacks what, when, and whose work holds it) when it cannot be met.
    """
    wanted = await model_in(request, Reservation)
    return CreatedJson(_shown(await plane_of(request).reservations.reserve(wanted)))


@router.get("")
async def reservations(request: Request) -> Json[ItemList[ReservationRow]]:
    return Json({"items": [_shown(record) for record in plane_of(request).questions.reservations.all()]})


@router.get("/{id}")
async def reservation(request: Request, id_: Id) -> Json[ReservationRow]:
    return Json(_shown(plane_of(request).reservations.get(id_)))


@router.delete("/{id}")
async def release(request: Request, id_: Id) -> NoContent:
    """Release it before it ends."""
    await plane_of(request).reservations.release(id_)
    return NoContent()
