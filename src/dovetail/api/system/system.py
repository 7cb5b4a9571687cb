"""Routes about the server itself: summary, profiles, health, readiness, metrics."""

import time

from fastapi import Request

import dovetail
from dovetail.api.nodes.amounts import use_of
from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.problems import RETRY_AFTER_S, HttpProblem
from dovetail.api.protocol.replies import Json, PlainText
from dovetail.control.plane import ControlPlane
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.responses.system import ClusterSummary, Profiles, ServerHealth

router = Routes(tags=["system"])
root = Routes(tags=["system"])


class PrometheusText(PlainText):
    media_type = "text/plain; version=0.0.4; charset=utf-8"


async def summary_of(plane: ControlPlane) -> ClusterSummary:
    statuses = plane.questions.gauges.status_counts()
    return {
        "nodes": {
            "total": sum(statuses.values()),
            "online": statuses["online"],
            "cordoned": statuses["cordoned"],
            "quarantined": statuses["quarantined"],
            "backend_down": statuses["backend down"],
            "offline": statuses["offline"],
        },
        "resources": {
            resource: use_of(resource, allocated, capacity)
            for resource, (allocated, capacity) in plane.questions.gauges.totals().items()
        },
        "workloads": await plane.read(plane.store.counts),
        "waiting": plane.questions.queues.waiting,
        "decisions_total": plane.metrics.decisions_total,
        "version": dovetail.__version__,
        "uptime_s": round(max(0.0, time.time() - plane.started_at), 3) if plane.started_at else 0.0,
    }


@router.get("/summary")
async def summary(request: Request) -> Json[ClusterSummary]:
    """The cluster in a few numbers."""
    return Json(await summary_of(plane_of(request)))


@router.get("/profiles")
async def profiles(request: Request) -> Json[Profiles]:
    """Profiles with their weights, and the schedulers that use them with the work that each may place."""
    settings = plane_of(request).settings.scheduling
    return Json(
        {
            "default": settings.default_profile,
            "profiles": [
                {
                    "name": name,
                    "default": name == settings.default_profile,
                    "built_in": profile is BUILT_IN.get(name),
                    "order": profile.order,
                    "select": profile.select,
                    "filters": list(profile.all_filters),
                    "scores": profile.scores,
                }
                for name, profile in settings.all_profiles().items()
            ],
            "schedulers": [
                {
                    "name": name,
                    "profile": scheduler.profile or settings.default_profile,
                    "namespaces": scheduler.namespaces,
                    "node_selector": scheduler.node_selector,
                }
                for name, scheduler in settings.all_schedulers().items()
            ],
        }
    )


@root.get("/health")
async def health(request: Request) -> Json[ServerHealth]:
    """Whether the server is alive: it answers, and its control loop runs."""
    if not plane_of(request).alive:
        raise HttpProblem(500, "the control loop has stopped; restart the server and see its log")
    # A subsystem in trouble stops nothing: it is named in `detail`.
    return Json({"status": "ok", "detail": plane_of(request).subsystems.trouble})


@root.get("/ready")
async def ready(request: Request) -> Json[ServerHealth]:
    """Whether it takes work: the state is restored and the store can be written."""
    plane = plane_of(request)
    if not plane.ready:
        raise HttpProblem(503, f"not ready: {plane.trouble}", headers={"Retry-After": str(RETRY_AFTER_S)})
    return Json({"status": "ready", "detail": ""})


@root.get("/metrics")
async def metrics(request: Request) -> PrometheusText:
    """Prometheus metrics."""
    plane = plane_of(request)
    plane.metrics.look()
    return PrometheusText(await plane.read(plane.metrics.text))
