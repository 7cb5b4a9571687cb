"""Routes for agents: what commands and attached tasks on their node write and read (`backends.registered.sessions`)."""

import asyncio
import binascii
from base64 import b64encode
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import MAX_ID, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import Json, NoContent
from dovetail.backends.contract import TerminalSize
from dovetail.backends.registered.sessions import AgentSession, SessionInput, SessionOutput, UnknownSession
from dovetail.model.text.strict import Strict
from dovetail.responses.nodes import InputPiece, InputPieces

router = Routes(tags=["nodes"])
T = TypeVar("T")

LONGEST_WAIT_S = 60.0
WAIT_FOR_ROOM_S = 10.0


class WrittenPiece(Strict):
    """`content`: base64. `exit_code`, `error` or `unknown` (no such attempt runs) is the last."""

    number: Annotated[int, Field(ge=0, le=MAX_ID)]
    content: Annotated[str, Field(max_length=2**20)] = ""
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    error: Annotated[str, Field(max_length=2000)] = ""
    unknown: bool = False


@router.post("/nodes/{name}/sessions/{session}", openapi_extra=takes(WrittenPiece))
async def written(request: Request, name: str, session: str) -> NoContent:
    """The agent sends what a command wrote, or how it ended. 503: nobody has read the last pieces; send it again."""
    piece = await model_in(request, WrittenPiece)
    taken = await _while_open(request, _session(request, name, session).take(output_of(piece), WAIT_FOR_ROOM_S))
    if not taken:
        raise HttpProblem(503, "nobody has read what was sent before; send it again", headers={"Retry-After": "1"})
    return NoContent()


@router.get("/nodes/{name}/sessions/{session}/input")
async def given(
    request: Request,
    name: str,
    session: str,
    after: Annotated[int, Query(ge=0, le=MAX_ID, description="the `next` of the last answer")] = 0,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="how long the server waits for input")] = 0,
) -> Json[InputPieces]:
    """What the command is to read, as soon as there is some. 404: the session is over; end it."""
    return Json(pieces_of(await _while_open(request, _session(request, name, session).give(after, wait_s))))


async def _while_open(request: Request, answer: Coroutine[Any, Any, T]) -> T:
    """The answer, unless the session ends or the server stops before."""
    asked, closing = asyncio.ensure_future(answer), asyncio.ensure_future(request.app.state.closing.wait())
    try:
        await asyncio.wait({asked, closing}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise HttpProblem(503, "the server is stopping; ask again", headers={"Retry-After": "1"})
        return asked.result()
    except UnknownSession:
        raise _over() from None
    finally:
        asked.cancel()
        closing.cancel()


def _session(request: Request, name: str, session: str) -> AgentSession:
    try:
        return plane_of(request).nodes.session(name, session)
    except UnknownSession:
        raise _over() from None


def _over() -> HttpProblem:
    return HttpProblem(404, "this session is over; end what runs for it")


def output_of(piece: WrittenPiece) -> SessionOutput:
    """Raises HttpProblem."""
    try:
        content = binascii.a2b_base64(piece.content, strict_mode=True)
    except ValueError:
        raise HttpProblem(422, "content is not base64") from None
    return SessionOutput(piece.number, content, piece.exit_code, piece.error, piece.unknown)


def pieces_of(found: SessionInput) -> InputPieces:
    return {"pieces": [_piece(one) for one in found.pieces], "next": found.next, "ended": found.ended}


def _piece(one: bytes | TerminalSize) -> InputPiece:
    if isinstance(one, TerminalSize):
        return {"content": None, "rows": one.rows, "columns": one.columns}
    return {"content": b64encode(one).decode(), "rows": None, "columns": None}
