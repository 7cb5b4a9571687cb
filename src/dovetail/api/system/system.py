"""Routes about the server as a whole: summary, profiles, events, health, readiness, metrics."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, cast

from fastapi import Header, Query, Request

import dovetail
from dovetail.access.tokens import TokenKind
from dovetail.api.nodes.amounts import use_of
from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.problems import RETRY_AFTER_S, HttpProblem
from dovetail.api.protocol.replies import EventStream, Json, PlainText, json_bytes
from dovetail.api.protocol.streams import until_closing
from dovetail.api.system.event_pages import history_page
from dovetail.control.errors import ControlError
from dovetail.control.loop.history_feed import SharedLine
from dovetail.control.plane import ControlPlane
from dovetail.model.text.strict import MAX_NAME, MAX_NODE_NAME
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.responses.system import ClusterSummary, HistoryPage, HistoryRow, NodeCounts, Profiles, ServerHealth
from dovetail.store.contract import EventFilter

router = Routes()
root = Routes(tags=["system"], under="")

MOST_CONTRADICTIONS = 5  # that are named by `health`
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
    before: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    newest: bool = False,
    since: Annotated[float | None, Query(ge=0, le=1e12)] = None,
    kind: Annotated[list[str], Query(max_length=20)] = [],  # noqa: B006 - FastAPI copies it
    workload: Annotated[str | None, Query(max_length=200)] = None,
    namespace: Namespace = None,
    replica: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    node: Annotated[str | None, Query(max_length=MAX_NODE_NAME)] = None,
    backend: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
    most: Annotated[int | None, Query(ge=1, le=MOST_ROWS, description="of a stream: so many events at once")] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Json[HistoryPage] | EventStream[HistoryRow]:
    """Past events, oldest first, or `newest` first; with `Accept: text/event-stream` a stream of events as they happen.

    A page holds events after and before these `seq`, and not older than `since` (seconds since the epoch). The stream
    begins after the event `after`, or the one in the header Last-Event-ID, otherwise now. `namespace`: of the workload,
    and without one of all workloads. `backend`: who added, changed or removed it, and when. `most`: where more events
    happen at once than somebody can follow, the stream has the newest of them, and before them an event of type
    `skipped` whose data is the number of the others.
    """
    plane = plane_of(request)
    ids = None
    if workload is not None:
        named = await plane.names.find(workload, namespace)
        ids, namespace = named.ids, None
        replica = named.replica if replica is None else replica
    where = EventFilter(ids, replica, namespace, node, backend, tuple(kind), since)
    if EventStream.media_type not in request.headers.get("Accept", ""):
        return Json(await history_page(plane, where, limit, after or 0, before, newest_first=newest))
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        after = int(last_event_id[:18])  # a browser sends it after a lost connection
    stream = until_closing(request, _stream(plane, after, where, most))
    return EventStream(stream, headers=_STREAM_HEADERS)


def _is_wanted(line: dict[str, Any], where: EventFilter) -> bool:
    """As `Store.events` chooses them."""
    if where.workloads is not None and line["workload"] not in where.workloads:
        return False
    for column in ("namespace", "node", "backend"):
        wanted = getattr(where, column)
        if wanted is not None and line[column] != wanted:
            return False
    about_another = where.replica is not None and line["replica"] not in (where.replica, None)
    return not about_another and (not where.kinds or line["kind"] in where.kinds)


async def _stream(
    plane: ControlPlane, after: int | None, where: EventFilter, most: int | None
) -> AsyncGenerator[bytes, None]:
    wants_all = where == EventFilter(since=where.since)
    position = await plane.history.newest() if after is None else after
    yield b": events of Dovetail\n\n"  # at once: the client then knows that it is connected
    try:
        async with aclosing(plane.history.follow(position, most if wants_all else None)) as pieces:
            async for lines in pieces:
                if not lines:
                    yield b": still here\n\n"
                    continue
                wanted = [line for line in lines if wants_all or _is_wanted(line.row, where)]
                if most is None:
                    skipped = 0
                elif wants_all:
                    skipped = lines[0].seq - 1 - position
                else:
                    skipped = max(0, len(wanted) - most)
                    wanted = wanted[skipped:]
                position = lines[-1].seq
                if wanted:
                    said = [b"event: skipped\ndata: %d\n\n" % skipped] if skipped else []
                    yield b"".join([*said, *map(_encoded, wanted)])
    except ControlError:
        return  # the server stops; the client comes back with Last-Event-ID


def _encoded(line: SharedLine) -> bytes:
    """As a server-sent event, made once for all streams."""
    if not line.encoded:
        kind = str(line.row["kind"]).replace("\n", " ")
        line.encoded = f"id: {line.seq}\nevent: {kind}\ndata: ".encode() + json_bytes(line.row) + b"\n\n"
    return line.encoded


@root.get("/health")
async def health(request: Request) -> Json[ServerHealth]:
    """Whether the server is alive: it answers, and its control loop runs."""
    if not plane_of(request).alive:
        raise HttpProblem(500, "the control loop has stopped; restart the server and see its log")
    # A subsystem in trouble stops nothing: it is named in `detail`, for those who may know.
    return Json({"status": "ok", "detail": _detail(plane_of(request)) if _may_know(request) else ""})


def _detail(plane: ControlPlane) -> str:
    """What does not stop scheduling and somebody should look at: subsystems, nodes unlike their description."""
    contradictions = plane.probe_board.contradictions
    shown = [str(one) for one in contradictions[:MOST_CONTRADICTIONS]]
    if len(contradictions) > len(shown):
        shown.append(f"{len(contradictions) - len(shown)} more such nodes; dovetail topology lists them")
    return "; ".join(one for one in (plane.subsystems.trouble, *shown) if one)


@root.get("/ready")
async def ready(request: Request) -> Json[ServerHealth]:
    """Whether it takes work: the state is restored, the store can be written, and the backend of this machine, if there
    is one, can start tasks."""
    plane = plane_of(request)
    if trouble := plane.trouble or plane.trouble_here:
        words = f"not ready: {trouble}" if _may_know(request) else "not ready"
        raise HttpProblem(503, words, headers={"Retry-After": str(RETRY_AFTER_S)})
    return Json({"status": "ready", "detail": ""})


def _may_know(request: Request) -> bool:
    """A probe without the admin token learns that it is up or down, and nothing else."""
    caller = request.state.caller
    return caller is not None and caller.kind is TokenKind.ADMIN


@root.get("/metrics")
async def metrics(request: Request) -> PrometheusText:
    """Prometheus metrics."""
    plane = plane_of(request)
    plane.metrics.look()
    return PrometheusText(await plane.read(plane.metrics.text))
