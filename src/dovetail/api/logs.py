"""Route of output: what a task wrote, in pieces or as it comes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from dovetail.api.body import plane_of
from dovetail.api.closing import closing_of, until_closing
from dovetail.api.replies import Text
from dovetail.api.workloads import MAX_ID, Namespace
from dovetail.backends.contract import LogChunk
from dovetail.control.errors import ControlError, StoreError, Unavailable
from dovetail.control.plane import ControlPlane
from dovetail.model.backoff import Backoff
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE

router = APIRouter(prefix="/workloads", tags=["workloads"])

MOST_BYTES = 1024 * 1024
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0


@router.get("/{ref}/logs")
async def logs(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    replica: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_BYTES)] = 65536,
    follow: bool = False,
) -> Response:
    """Output of a task's latest attempt from a byte offset. `follow` goes on until the task ends."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    chunk = await plane.output.read(row["id"], replica, offset, limit)
    if follow:
        stream = until_closing(_following(plane, row["id"], replica, chunk), closing_of(request))
        return StreamingResponse(stream, media_type=Text.media_type)
    headers = {"X-Next-Offset": str(chunk.next_offset), "X-Ended": "true" if chunk.ended else "false"}
    return Text(chunk.text, headers=headers)


async def _following(plane: ControlPlane, workload: int, replica: int, chunk: LogChunk) -> AsyncIterator[str]:
    backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while True:
        if chunk.text:
            yield chunk.text
            backoff.reset()
        if chunk.ended:
            return
        if not chunk.text:
            await asyncio.sleep(backoff.next_s())
        offset = chunk.next_offset
        try:
            chunk = await plane.output.read(workload, replica, offset, MOST_BYTES)
        except Unavailable:  # its backend is in trouble: what was not read now is read when it is back
            chunk = LogChunk("", offset, ended=False)
        except (ControlError, StoreError):
            return  # removed, or the server stops: there is nothing more to read
