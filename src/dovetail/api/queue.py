"""Route of the queue: what waits, in the order it would be looked at, for what, and until when."""

import time
from itertools import islice
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from dovetail.api import answers
from dovetail.api.body import plane_of
from dovetail.api.replies import Json
from dovetail.api.starts import start_fields
from dovetail.control.plane import ControlPlane
from dovetail.engine.state.work import Work
from dovetail.model.reason import Outcome
from dovetail.model.workloads.workload import Priority

router = APIRouter(prefix="/queue", tags=["queue"])

_PRIORITIES = tuple(Priority)  # by rank


@router.get("")
async def queue(request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000) -> Response:
    """Waiting workloads, next first; after them, without a position, those that wait for other workloads. Predicted
    starts are seconds since the epoch, null where nobody can tell."""
    plane = plane_of(request)
    now, state = time.time(), plane.engine.state
    placed: list[tuple[int | None, Work]] = [
        (position, state.work[id_]) for position, id_ in enumerate(plane.questions.queue(limit), 1)
    ]
    waiting = {work.id for _, work in placed}
    following = {id_ for ids in state.dependents.values() for id_ in ids if id_ in state.work} - waiting
    placed += [(None, state.work[id_]) for id_ in islice(sorted(following), limit - len(placed))]
    guesses = await plane.ask(lambda _: plane.questions.starts_pieces(now))
    first = await _first_priorities(plane, [work for _, work in placed], now)
    tree = state.router.queues
    return Json(
        {
            "items": [
                {
                    "position": position,
                    "id": work.id,
                    "namespace": work.namespace,
                    "name": work.name,
                    "queue": tree[work.queue].path,
                    "user": work.terms.user,
                    "priority": _PRIORITIES[work.rank],
                    "promoted_from": first.get(work.id),
                    "replicas": work.replicas,
                    "pending": len(work.waiting) + len(work.delayed),
                    "waited_s": round(max(0.0, now - work.submitted_at), 3),
                    "reason": work.reason,
                    "message": work.message,
                    "waits_for": answers.waits_for(work.reason, work.message),
                    "preempting": work.reason == Outcome.PREEMPTING,
                    **start_fields(guesses.get(work.id)),
                }
                for position, work in placed
            ]
        }
    )


async def _first_priorities(plane: ControlPlane, works: list[Work], now: float) -> dict[int, str]:
    """The priorities that workloads were submitted with, of those that waiting has raised since. Only the definition
    tells, so it is read for those alone that have waited long enough."""
    promotion = plane.settings.scheduling.promotion
    if promotion is None:
        return {}
    old = {work.id: work.rank for work in works if now - work.submitted_at >= promotion.after}
    found: dict[int, str] = {}
    for id_, text in (await plane.read(plane.store.spec_jsons, old)).items() if old else ():
        spec: dict[str, Any] = orjson.loads(text)
        first = Priority(spec.get("priority", Priority.MEDIUM))
        if first.rank > old[id_]:
            found[id_] = str(first)
    return found
