"""Route of the pending queue: which workloads wait, in which order, for what, and until when."""

import time
from typing import Annotated, Any

import orjson
from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.api.questions import sentences
from dovetail.api.workloads.starts import start_fields
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.queue_questions import PendingWorkload
from dovetail.model.reason import Outcome
from dovetail.model.workloads.workload import Priority
from dovetail.responses import ItemList
from dovetail.responses.queues import QueueItem

router = Routes(prefix="/queue", tags=["queue"])

_PRIORITIES = tuple(Priority)  # by rank


@router.get("")
async def queue(request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000) -> Json[ItemList[QueueItem]]:
    """Pending workloads, next first; after them, without a position, those that wait for other workloads. Predicted
    starts are seconds since the epoch, null where the start cannot be predicted."""
    plane = plane_of(request)
    now = time.time()
    found = plane.questions.queues.pending(limit)
    guesses = await plane.ask(lambda _: plane.questions.plans.starts(now))
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
