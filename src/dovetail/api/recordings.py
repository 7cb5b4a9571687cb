"""Recordings: which there are, and their content in pieces."""

import asyncio
from base64 import b64encode
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.responses import ItemList
from dovetail.responses.recordings import RecordingPiece, RecordingRow

MOST_BYTES = 2 * 2**20

router = Routes(prefix="/recordings", tags=["system"])


@router.get("")
async def recordings(request: Request) -> Json[ItemList[RecordingRow]]:
    """What was recorded for `dovetail replay`, oldest first. Each begins with the whole state."""
    found = await asyncio.to_thread(plane_of(request).recording.files)
    return Json({"items": [{"name": one.name, "at": one.at, "size_bytes": one.size_bytes} for one in found]})


@router.get("/{name}")
async def recording(
    request: Request, name: str, offset: Annotated[int, Query(ge=0, le=2**53)] = 0
) -> Json[RecordingPiece]:
    """A piece of one. Definitions of workloads are in it, with their variables."""
    data, more = await asyncio.to_thread(plane_of(request).recording.piece, name, offset, MOST_BYTES)
    next_offset = offset + len(data) if more else None
    return Json({"name": name, "offset": offset, "data": b64encode(data).decode(), "next_offset": next_offset})
