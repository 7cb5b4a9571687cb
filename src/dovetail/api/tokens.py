"""Routes of tokens: rotate the admin's, make one for a node, let new nodes join."""

from typing import Annotated

from fastapi import Path, Request
from pydantic import Field

from dovetail.api.protocol.body import MAX_ID, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent
from dovetail.control.errors import Conflict
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.settings import REGISTERED
from dovetail.model.record import TokenRecord
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict
from dovetail.responses import ItemList
from dovetail.responses.tokens import AdminTokenMade, JoinTokenMade, JoinTokenRow, NodeTokenMade

router = Routes(tags=["tokens"])


class JoinTokenBody(Strict):
    """How many nodes it admits, and for how long."""

    uses: Annotated[Count, Field(ge=1, le=10_000)] = 1
    ttl: Annotated[Duration, Field(ge=1, le=30 * 86400)] = 3600.0


@router.post("/tokens/admin")
async def rotate(request: Request) -> CreatedJson[AdminTokenMade]:
    """Make another admin token. The one of this request is worth nothing from then on."""
    access = plane_of(request).access
    admin = access.admin
    token = await on_store_thread(admin.rotate)
    await access.end_sessions()  # they were opened with the old one
    return CreatedJson({"token": token, "file": str(admin.path)})


@router.get("/tokens/join")
async def join_tokens(request: Request) -> Json[ItemList[JoinTokenRow]]:
    """The join tokens that still admit somebody. Their text is known to their holders only."""
    return Json({"items": [_row(record) for record in plane_of(request).access.join_tokens()]})


@router.post("/tokens/join", openapi_extra=takes(JoinTokenBody, required=False))
async def join(request: Request) -> CreatedJson[JoinTokenMade]:
    """Make a token with which so many new nodes may register, for so long. Each then gets a token of its own."""
    wanted = await model_in(request, JoinTokenBody)
    token, record = await plane_of(request).access.join_token(wanted.uses, wanted.ttl)
    return CreatedJson({**_row(record), "token": token})


@router.delete("/tokens/join/{number}")
async def revoke(request: Request, number: Annotated[int, Path(ge=0, le=MAX_ID)]) -> NoContent:
    """Let a join token admit nobody from now on. Nodes that have joined stay."""
    await plane_of(request).access.revoke(number)
    return NoContent()


@router.post("/nodes/{name}/token", tags=["nodes"])
async def node_token(request: Request, name: str) -> CreatedJson[NodeTokenMade]:
    """Make another token for a registered node. It speaks for that node alone; the one before is worth nothing."""
    plane = plane_of(request)
    plane.nodes.must_exist(name)
    backend = plane.questions.nodes.backend_of(name)
    if backend != REGISTERED and not plane.nodes.is_launched(name):
        raise Conflict(f"node {name!r} belongs to backend {backend!r}; only nodes that register themselves have tokens")
    return CreatedJson({"node": name, "token": await plane.access.node_token(name)})


def _row(record: TokenRecord) -> JoinTokenRow:
    return {
        "id": record.id,
        "made_at": record.made_at,
        "expires_at": record.expires_at or 0.0,
        "uses_left": record.uses_left or 0,
    }
