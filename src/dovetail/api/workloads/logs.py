"""Route of output: what a task wrote, in chunks or as a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import MAX_ID, Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import PlainText, TextStream, until_closing
from dovetail.backends.contract import LogChunk
from dovetail.control.errors import ControlError, StoreError, Unavailable
from dovetail.control.plane import ControlPlane
from dovetail.model.backoff import Backoff
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE

router = Routes(prefix="/workloads", tags=["workloads"])

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
) -> PlainText | TextStream:
    """Output of a task's latest attempt from a byte offset. With `follow`, a stream until the task ends.

    The headers X-Next-Offset and X-Ended say where to go on, and whether the task has ended.
    """
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    chunk = await plane.output.read(row["id"], replica, offset, limit)
    if follow:
        return TextStream(until_closing(request, _following(plane, row["id"], replica, chunk)))
    headers = {"X-Next-Offset": str(chunk.next_offset), "X-Ended": "true" if chunk.ended else "false"}
    return PlainText(chunk.text, headers=headers)


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
        except Unavailable:  # its backend does not answer: go on reading when it does
            chunk = LogChunk("", offset, ended=False)
        except (ControlError, StoreError):
            return  # it was removed, or the server stops
