"""The route for the output of tasks: a piece of it, its last lines, what is newer than a time, or all that follows."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import MAX_ID, Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import PlainText, TextStream
from dovetail.api.protocol.streams import until_closing
from dovetail.backends.contract import LogChunk
from dovetail.control.errors import ControlError, StoreError, Unavailable
from dovetail.control.plane import ControlPlane
from dovetail.control.services.task_output import OutputSource
from dovetail.model.backoff import Backoff

router = Routes(prefix="/workloads", tags=["workloads"])

MOST_BYTES = 1024 * 1024  # of output in one answer
MOST_LINES = 1_000_000
MOST_WAIT_S = 20.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0  # before a task that runs is asked for more


@router.get("/{ref}/logs")
async def logs(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    replica: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    attempt: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    previous: bool = False,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_BYTES)] = 65536,
    tail: Annotated[int | None, Query(ge=0, le=MOST_LINES)] = None,
    since: Annotated[float | None, Query(ge=0, le=1e12)] = None,
    wait: Annotated[float, Query(ge=0, le=MOST_WAIT_S)] = 0.0,
    follow: bool = False,
) -> PlainText | TextStream:
    """Output of a task: of its latest attempt, of the one before (`previous`) or of another one (`attempt`).

    The task is named as in `train.3`, or by `replica`; otherwise it is the first.

    It begins at a byte `offset`, or so many lines before the end (`tail`), or with what was written since a time
    (`since`, seconds since the epoch), whichever is last. Without output yet, the answer comes after `wait` seconds or
    with the first output. The headers X-Next-Offset and X-Ended say where to go on, and whether the attempt has ended;
    X-Attempt says which one it was. With `follow`, the answer is a stream until the attempt ends.
    """
    plane = plane_of(request)
    row, named = await plane.names.one(ref, namespace)
    task = replica if replica is not None else named or 0
    source = await plane.output.find(row["id"], task, attempt, previous=previous)
    if tail is not None:
        offset = max(offset, await plane.output.tail(source, tail))
    if since is not None:
        newer = await plane.output.since(source, since)
        offset = max(offset, await plane.output.tail(source, 0) if newer is None else newer)
    chunk = await plane.output.read(source, offset, limit)
    if follow:
        return TextStream(until_closing(request, _following(plane, source, chunk)))
    if not chunk.text and not chunk.ended and wait:
        chunk = await _awaited(request, source, chunk, limit, wait)
    headers = {
        "X-Next-Offset": str(chunk.next_offset),
        "X-Ended": "true" if chunk.ended else "false",
        "X-Attempt": str(source.attempt),
    }
    return PlainText(chunk.text, headers=headers)


async def _awaited(request: Request, source: OutputSource, chunk: LogChunk, limit: int, wait_s: float) -> LogChunk:
    """The first output after the chunk, if there is some in this time; the server does not stop later for it."""
    plane, closing = plane_of(request), request.app.state.closing
    until, backoff = time.monotonic() + wait_s, Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while not chunk.text and not chunk.ended and not closing.is_set() and time.monotonic() < until:
        await asyncio.sleep(min(backoff.next_s(), max(0.0, until - time.monotonic())))
        chunk = await plane.output.read(source, chunk.next_offset, limit)
    return chunk


async def _following(plane: ControlPlane, source: OutputSource, chunk: LogChunk) -> AsyncGenerator[str, None]:
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
            chunk = await plane.output.read(source, offset, MOST_BYTES)
        except Unavailable:  # its backend does not answer: go on reading when it does
            chunk = LogChunk("", offset, ended=False)
        except (ControlError, StoreError):
            return  # it was removed, or the server stops
