"""Routes about the server as a whole: summary, profiles, events, health, readiness, metrics."""

import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, cast

from fastapi import Header, Query, Request

import dovetail
from dovetail.api.nodes.amounts import use_of
from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.problems import RETRY_AFTER_S, HttpProblem
from dovetail.api.protocol.replies import EventStream, Json, PlainText, json_bytes, until_closing
from dovetail.control.errors import ControlError
from dovetail.control.plane import ControlPlane
from dovetail.model.text.strict import MAX_NAME, MAX_NODE_NAME
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.responses import ItemList
from dovetail.responses.system import ClusterSummary, HistoryRow, NodeCounts, Profiles, ServerHealth

router = Routes()
root = Routes(tags=["system"])

_STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class PrometheusText(PlainText):
    media_type = "text/plain; version=0.0.4; charset=utf-8"


async def summary_of(plane: ControlPlane) -> ClusterSummary:
    statuses = {status.replace(" ", "_"): nodes for status, nodes in plane.questions.gauges.status_counts().items()}
    return {
        "nodes": cast("NodeCounts", {"total": sum(statuses.values()), **statuses}),
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


@router.get("/summary", tags=["system"])
async def summary(request: Request) -> Json[ClusterSummary]:
    """The cluster in a few numbers."""
    return Json(await summary_of(plane_of(request)))


@router.get("/profiles", tags=["profiles"])
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


@router.get("/events", tags=["events"])
async def events(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    workload: Annotated[str | None, Query(max_length=200)] = None,
    namespace: Namespace = None,
    node: Annotated[str | None, Query(max_length=MAX_NODE_NAME)] = None,
    backend: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Json[ItemList[HistoryRow]] | EventStream[HistoryRow]:
    """Past events, oldest first; with `Accept: text/event-stream` a stream of events as they happen.

    The stream begins after the event `after`, or the one in the header Last-Event-ID, otherwise now. `backend`: who
    added, changed or removed it, and when.
    """
    plane = plane_of(request)
    named = None if workload is None else await plane.names.find(workload, namespace)
    ids, replica = (None, None) if named is None else (named.ids, named.replica)
    if EventStream.media_type not in request.headers.get("Accept", ""):
        rows = await plane.read(plane.store.history, ids, node, after or 0, limit, backend, replica)
        return Json({"items": cast("list[HistoryRow]", rows)})
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        after = int(last_event_id[:18])  # a browser sends it after a lost connection
    asked = {"workload": ids, "node": node, "backend": backend}
    accepted: dict[str, list[Any]] = {
        column: value if isinstance(value, list) else [value] for column, value in asked.items() if value is not None
    }
    if replica is not None:
        accepted["replica"] = [None, replica]
    stream = until_closing(request, _stream(plane, after, accepted))
    return EventStream(stream, headers=_STREAM_HEADERS)


async def _stream(plane: ControlPlane, after: int | None, accepted: dict[str, list[Any]]) -> AsyncIterator[bytes]:
    yield b": events of Dovetail\n\n"  # at once: the client then knows that it is connected
    try:
        async with plane.subscribe(after) as lines:
            async for line in lines:
                if line is None:
                    yield b": still here\n\n"
                elif all(line[column] in values for column, values in accepted.items()):
                    yield _event(line)
    except ControlError:
        return  # the server stops; the client comes back with Last-Event-ID


def _event(line: dict[str, Any]) -> bytes:
    kind = str(line["kind"]).replace("\n", " ")
    return f"id: {line['seq']}\nevent: {kind}\ndata: ".encode() + json_bytes(line) + b"\n\n"


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
