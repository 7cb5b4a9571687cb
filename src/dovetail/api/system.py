"""Routes about the server itself: summary, health, readiness, metrics."""

import time
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

import dovetail
from dovetail.api.amounts import use_of
from dovetail.api.body import plane_of
from dovetail.api.problems import RETRY_AFTER_S, Problem
from dovetail.api.replies import Json
from dovetail.control.plane import ControlPlane

router = APIRouter(tags=["system"])
root = APIRouter(tags=["system"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def summary_of(plane: ControlPlane) -> dict[str, Any]:
    statuses = plane.questions.status_counts()
    return {
        "nodes": {"total": sum(statuses.values())} | {name.replace(" ", "_"): n for name, n in statuses.items()},
        "resources": {
            resource: use_of(resource, allocated, capacity)
            for resource, (allocated, capacity) in plane.questions.totals().items()
        },
        "workloads": await plane.read(plane.store.counts),
        "waiting": plane.questions.waiting,
        "decisions_total": plane.metrics.decisions_total,
        "version": dovetail.__version__,
        "uptime_s": round(max(0.0, time.time() - plane.started_at), 3) if plane.started_at else 0.0,
    }


@router.get("/summary")
async def summary(request: Request) -> Response:
    """The whole in a few numbers."""
    return Json(await summary_of(plane_of(request)))


@root.get("/health")
async def health(request: Request) -> Response:
    """Alive: it answers, and the loop turns."""
    if not plane_of(request).alive:  # a subsystem in trouble is told in `detail`: it stops nothing
        raise Problem(500, "the control loop has stopped; restart the server and see its log")
    return Json({"status": "ok", "detail": plane_of(request).subsystems.trouble})


@root.get("/ready")
async def ready(request: Request) -> Response:
    """Ready for work: everything is restored and the store can be written."""
    plane = plane_of(request)
    if not plane.ready:
        raise Problem(503, f"not ready: {plane.trouble}", headers={"Retry-After": str(RETRY_AFTER_S)})
    return Json({"status": "ready", "detail": ""})


@root.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus metrics."""
    plane = plane_of(request)
    plane.metrics.look(plane.questions)
    return Response(await plane.read(plane.metrics.text), media_type=PROMETHEUS)
