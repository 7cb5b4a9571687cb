"""Routes of queues: what waits, in which order and for what; the tree of queues, and how fair it is between tenants."""

import time
from typing import Annotated, Any

import orjson
from fastapi import Query, Request

from dovetail.api.nodes.amounts import number, unit_of
from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.api.questions import sentences
from dovetail.api.workloads.workloads import start_fields
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.queue_questions import PendingWorkload
from dovetail.engine.questions.queue_report import QueueUse
from dovetail.model.reason import Outcome
from dovetail.model.resources import Amounts
from dovetail.model.workloads.workload import Priority
from dovetail.queueing.borrowing import Loan
from dovetail.responses import ItemList
from dovetail.responses.queues import LoanPart, QueueItem, QueueResource, QueueRow, QueuesAnswer

router = Routes(tags=["queue"])

_PRIORITIES = tuple(Priority)  # by rank


@router.get("/queue")
async def queue(request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000) -> Json[ItemList[QueueItem]]:
    """Pending workloads, next first; after them, without a position, those that wait for other workloads. Predicted
    starts are seconds since the epoch, null where the start cannot be predicted."""
    plane = plane_of(request)
    now = time.time()
    found = plane.questions.queues.pending(limit)
    guesses = await plane.ask(lambda _: plane.questions.plans.starts_pieces(now))
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
    return Json({"items": items})


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


@router.get("/queues")
async def queues(request: Request) -> Json[QueuesAnswer]:
    """Every queue, parents before children, with use, guarantee, maximum and loans; and the tenants that hold
    something, with their weight, share and deviation from their fair share (0: exactly fair, 1: twice as much)."""
    plane = plane_of(request)
    capacity = {resource: whole for resource, (_, whole) in plane.questions.gauges.totals().items()}
    report = plane.questions.queues.report(capacity)
    return Json(
        {
            "queues": [_row(use, plane.waiting_in(use.queue.code), capacity) for use in report.queues],
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
