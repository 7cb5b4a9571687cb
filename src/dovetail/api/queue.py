"""Route of the queue: what waits, in the order it would be looked at."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from dovetail.api.body import plane_of
from dovetail.api.replies import Json
from dovetail.model.workload import Priority

router = APIRouter(prefix="/queue", tags=["queue"])

_PRIORITIES = tuple(Priority)  # by rank


@router.get("")
async def queue(request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000) -> Response:
    plane = plane_of(request)
    now, live = time.time(), plane.engine.state.work
    waiting = [live[id_] for id_ in plane.questions.queue(limit)]
    return Json(
        {
            "items": [
                {
                    "position": position,
                    "id": work.id,
                    "namespace": work.namespace,
                    "name": work.name,
                    "priority": _PRIORITIES[work.rank],
                    "replicas": work.replicas,
                    "pending": len(work.waiting),
                    "waited_s": round(max(0.0, now - work.submitted_at), 3),
                    "reason": work.reason,
                    "message": work.message,
                }
                for position, work in enumerate(waiting, 1)
            ]
        }
    )
