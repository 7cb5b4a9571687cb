"""Route of events: past events as a list, or events as they happen as a stream (server-sent events)."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, cast

from fastapi import Header, Query, Request

from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import EventStream, Json, json_bytes, until_closing
from dovetail.control.errors import ControlError
from dovetail.control.plane import ControlPlane
from dovetail.model.text.strict import MAX_NAME, MAX_NODE_NAME
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses import ItemList
from dovetail.responses.system import HistoryRow

router = Routes(prefix="/events", tags=["events"])

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("")
async def events(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    workload: Annotated[str | None, Query(max_length=200)] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
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
    workload_id = None if workload is None else (await plane.resolve(workload, namespace))["id"]
    if EventStream.media_type not in request.headers.get("Accept", ""):
        rows = await plane.read(plane.store.history, workload_id, node, after or 0, limit, backend)
        return Json({"items": cast("list[HistoryRow]", rows)})
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        after = int(last_event_id[:18])  # a browser sends it after a lost connection
    wanted = {"workload": workload_id, "node": node, "backend": backend}
    wanted = {column: value for column, value in wanted.items() if value is not None}
    stream = until_closing(request, _stream(plane, after, wanted))
    return EventStream(stream, headers=_HEADERS)


async def _stream(plane: ControlPlane, after: int | None, wanted: dict[str, Any]) -> AsyncIterator[bytes]:
    yield b": events of Dovetail\n\n"  # at once: the client then knows that it is connected
    try:
        async with plane.subscribe(after) as lines:
            async for line in lines:
                if line is None:
                    yield b": still here\n\n"
                elif all(line[column] == value for column, value in wanted.items()):
                    yield _event(line)
    except ControlError:
        return  # the server stops; the client comes back with Last-Event-ID


def _event(line: dict[str, Any]) -> bytes:
    kind = str(line["kind"]).replace("\n", " ")
    return f"id: {line['seq']}\nevent: {kind}\ndata: ".encode() + json_bytes(line) + b"\n\n"
