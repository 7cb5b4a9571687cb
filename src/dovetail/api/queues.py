"""Routes of queues: what waits, in which order and for what; the tree with its quotas; reservations of capacity."""

import time
from operator import itemgetter
from typing import Annotated, Any

import orjson
from fastapi import Path, Query, Request

from dovetail.api.nodes.amounts import number, unit_of
from dovetail.api.protocol.body import MAX_ID, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent
from dovetail.api.protocol.row_list import PageQuery, RowList, SortedBy, fields
from dovetail.api.questions import sentences
from dovetail.api.workloads import start_fields
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.queue_questions import PendingWorkload, QueueUse
from dovetail.model.reason import Outcome
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation, Target
from dovetail.model.resources import SLOTS, Amounts, write_amount
from dovetail.model.text.listing import count
from dovetail.model.workloads.workload import Priority
from dovetail.queueing.quota import Loan
from dovetail.responses import ItemPage
from dovetail.responses.queues import (
    LoanPart,
    QueueItem,
    QueuePage,
    QueueResource,
    QueueRow,
    QueuesAnswer,
    ReservationRow,
)

router = Routes()

Id = Annotated[int, Path(alias="id", ge=1, le=MAX_ID)]
_PRIORITIES = tuple(Priority)  # by rank

RESERVATIONS: RowList[ReservationRow] = RowList(
    sorts=fields("id", "status", "target", "tenant", "start", "until", "every_s", "holder"),
    searched=lambda row: (row["target"], row["tenant"], row["holder"], *row["nodes"]),
    counted=itemgetter("status"),
)


class ReservationQuery(PageQuery):
    sort: Annotated[str, SortedBy(RESERVATIONS.sorts)] | None = None


@router.get("/queue", tags=["queue"])
async def queue(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    within: Annotated[str | None, Query(alias="queue", max_length=1000)] = None,
    search: Annotated[str, Query(max_length=200)] = "",
) -> Json[QueuePage]:
    """A page of the pending workloads, and how many there are in all (`total`). Next first; after them, without a
    position, those that wait for other work, for their own limit or for their next try. Predicted
    starts are seconds since the epoch, null where the start cannot be predicted. `queue`: only in it and below it;
    `search`: only those whose name contains it."""
    plane = plane_of(request)
    now = time.time()
    waiting = plane.questions.queues
    found = waiting.pending(limit, now, offset, within, search)
    total = waiting.total if within is None and not search else waiting.count_pending(within, search)
    guesses = await plane.ask(lambda _: plane.questions.plans.starts(now, [one.id for one in found]))
    first = await _first_priorities(plane, found, now)
    items: list[QueueItem] = [
        {
            "position": one.position,
            "id": one.id,
            "namespace": one.namespace,
            "name": one.name,
            "queue": one.queue,
            "user": one.user,
            "priority": _PRIORITIES[one.rank],
            "promoted_from": first.get(one.id),
            "replicas": one.replicas,
            "pending": one.pending,
            "waited_s": round(max(0.0, now - one.submitted_at), 3),
            "reason": one.reason,
            "message": one.message,
            "waits_for": sentences.waits_for(one.reason, one.message),
            "preempting": one.reason == Outcome.PREEMPTING,
            **start_fields(guesses.get(one.id)),
        }
        for one in found
    ]
    return Json({"items": items, "total": total})


async def _first_priorities(plane: ControlPlane, found: list[PendingWorkload], now: float) -> dict[int, str]:
    """The priorities that workloads were submitted with, of those whose priority has risen since. Only the definition
    has it, so it is read only for workloads that have waited long enough."""
    promotion = plane.settings.scheduling.promotion
    if promotion is None:
        return {}
    old = {one.id: one.rank for one in found if now - one.submitted_at >= promotion.after}
    promoted: dict[int, str] = {}
    for id_, text in (await plane.read(plane.store.spec_jsons, old)).items() if old else ():
        spec: dict[str, Any] = orjson.loads(text)
        first = Priority(spec.get("priority", Priority.MEDIUM))
        if first.rank > old[id_]:
            promoted[id_] = str(first)
    return promoted


@router.get("/queues", tags=["queue"])
async def queues(request: Request) -> Json[QueuesAnswer]:
    """Every queue, parents before children, with use, guarantee, maximum and loans; and the tenants that hold
    something, with their weight, share and deviation from their fair share (0: exactly fair, 1: twice as much)."""
    plane = plane_of(request)
    capacity = {resource: whole for resource, (_, whole) in plane.questions.gauges.totals().items()}
    report = plane.questions.queues.report(capacity, time.time())
    return Json(
        {
            "queues": [_row(use, plane.workloads.waiting_in(use.queue.code), capacity) for use in report.queues],
            "loans": [
                {"resource": one.resource, "borrowers": _listed(one.borrowers), "lenders": _listed(one.lenders)}
                for one in report.loans
            ],
            "fair_between": report.fair_between,
            "tenants": [
                {
                    "tenant": one.tenant,
                    "weight": one.weight,
                    "share": round(one.share, 4),
                    "share_with_past": round(one.share_with_past, 4),
                    "deviation": round(one.deviation, 4),
                }
                for one in report.tenants
            ],
        }
    )


def _row(use: QueueUse, waiting: int, capacity: Amounts) -> QueueRow:
    queue = use.queue
    named = dict.fromkeys((*use.used, *queue.guaranteed, *queue.maximum))
    return {
        "path": queue.path,
        "name": queue.name,
        "depth": queue.depth,
        "leaf": use.leaf,
        "weight": queue.weight,
        "share": round(use.share, 4),
        "share_with_past": round(use.share_with_past, 4),
        "dominant": use.dominant,
        "waiting": waiting,
        "max_workloads": queue.max_workloads,
        "resources": {resource: _resource(resource, use, capacity.get(resource, 0)) for resource in named},
        "user_limits": {name: number(name, amount) for name, amount in queue.user_limits.items()},
    }


def _resource(resource: str, use: QueueUse, cluster: int) -> QueueResource:
    maximum = use.queue.maximum.get(resource)
    return {
        "unit": unit_of(resource),
        "used": number(resource, use.used.get(resource, 0)),
        "guaranteed": number(resource, use.queue.guaranteed.get(resource, 0)),
        "maximum": None if maximum is None else number(resource, maximum),
        "borrowed": number(resource, use.borrowed.get(resource, 0)),
        "cluster": number(resource, cluster),
    }


def _listed(loans: list[Loan]) -> list[LoanPart]:
    return [{"queue": loan.path, "amount": number(loan.resource, loan.amount)} for loan in loans]


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
        tasks = f"{count(target.count, 'task')} of {amounts}"
        where = ", ".join(([domain] if domain else []) + [f"{key}={value}" for key, value in target.selector])
        return f"{tasks} in {where}" if where else tasks
    where = f"each node of {domain}" if domain else ", ".join(target.nodes)
    return f"{amounts or 'everything'} on {where}"


@router.post("/reservations", tags=["reservations"], openapi_extra=takes(Reservation))
async def reserve(request: Request) -> CreatedJson[ReservationRow]:
    """Reserve capacity: from `start` for `duration` only work of the namespace `tenant` may use it.

    Refused with 409 and the reason (which node lacks what, when, and whose work holds it) when it cannot be met.
    """
    wanted = await model_in(request, Reservation)
    return CreatedJson(_shown(await plane_of(request).reservations.reserve(wanted)))


@router.get("/reservations", tags=["reservations"])
async def reservations(request: Request, query: Annotated[ReservationQuery, Query()]) -> Json[ItemPage[ReservationRow]]:
    """All reservations, or a page of those whose target, nodes, tenant or holder contain `search`. `counts` are by
    status."""
    records = plane_of(request).questions.reservations.all()
    return Json(RESERVATIONS.page([_shown(record) for record in records], query))


@router.get("/reservations/{id}", tags=["reservations"])
async def reservation(request: Request, id_: Id) -> Json[ReservationRow]:
    return Json(_shown(plane_of(request).reservations.get(id_)))


@router.delete("/reservations/{id}", tags=["reservations"])
async def release(request: Request, id_: Id) -> NoContent:
    """Release it before it ends."""
    await plane_of(request).reservations.release(id_)
    return NoContent()
