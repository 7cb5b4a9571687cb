"""Reading what was sent: parameters that several routes take, and bodies of JSON or YAML as models.

Guarantees: a body is never held beyond `limits.max_body`, whether or not it said how long it is, and all bodies
together not beyond `limits.max_bodies`. Small ones are read at once (`reading`), large ones by other processes
(`readers`), so that neither the loop nor the store waits for them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from hashlib import blake2b
from typing import Annotated, Any, TypeVar

from fastapi import Query, Request
from pydantic import BaseModel, Field

from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.readers import ReaderEnded, elsewhere
from dovetail.api.protocol.reading import JSON, SOURCE, YAML, read_model, read_services, read_workloads
from dovetail.control.plane import ControlPlane
from dovetail.model.policy import Prose
from dovetail.model.services.service import Service
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.quantity import format_duration, show_bytes
from dovetail.model.workloads.workload import Workload

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

MOST_ROWS = 1000
MAX_ID = 2**62
Author = Annotated[Prose, Query(alias="by", max_length=200, description="who makes the change, for the history")]
Note = Annotated[Prose, Query(max_length=1000, description="why, for the history")]
Namespace = Annotated[
    str | None, Query(max_length=200, description="where the name is looked for; else in `default`, then everywhere")
]
InNamespace = Annotated[str, Query(max_length=200)]
Reason = Annotated[str, Field(max_length=500)]

SMALL_BYTES = 2048  # reading so much takes a few milliseconds, whatever it says
LARGE_BYTES = 2**20
_YAML_TYPES = frozenset({YAML, "application/x-yaml", "text/yaml", "text/x-yaml"})
_IDEMPOTENT = "Idempotency-Key"


def plane_of(request: Request) -> ControlPlane:
    found = request.app.state.plane
    assert isinstance(found, ControlPlane)
    return found


async def workloads_in(request: Request) -> list[Workload]:
    """One workload, a list of them, or `{"workloads": […]}`."""
    return await _read(request, read_workloads, plane_of(request).settings.limits.max_batch)


async def services_in(request: Request) -> list[Service]:
    """One service, a list of them, or `{"services": […]}`."""
    return await _read(request, read_services, plane_of(request).settings.limits.max_batch)


async def model_in(request: Request, model: type[Model], defaults: dict[str, object] | None = None) -> Model:
    """Exactly one of the model. `defaults` fill in fields of a mapping that were left out; no body is `{}`."""
    return await _read(request, read_model, model, defaults)


async def content_in(request: Request) -> bytes:
    """What was sent, of whatever kind, as it is."""
    async with _received(request) as content:
        return content


@asynccontextmanager
async def _received(request: Request) -> AsyncIterator[bytes]:
    """The body. While the block runs, it counts among the bodies that the server holds."""
    limits = plane_of(request).settings.limits
    held: BodiesInFlight = request.app.state.bodies
    too_large = HttpProblem(
        413, f"the body is larger than {show_bytes(limits.max_body)}, the most this server reads: split it"
    )
    declared = request.headers.get("Content-Length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limits.max_body:
        raise too_large
    pieces, size = [], 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > limits.max_body:
                raise too_large
            held.add(len(piece))
            pieces.append(piece)
        content = b"".join(pieces)
        pieces.clear()
        yield content
    finally:
        held.bytes -= size if size <= limits.max_body else sum(map(len, pieces))


class BodiesInFlight:
    """How many bytes of bodies the server holds, of all requests together. Large ones are read one at a time: each
    takes many times its size while it is read, and smaller ones find a reader meanwhile."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = 0
        self._large = asyncio.Lock()

    def turn(self, size: int) -> AbstractAsyncContextManager[None]:
        return self._large if size > LARGE_BYTES else nullcontext()

    def add(self, size: int) -> None:
        """Raises HttpProblem if there are too many; the caller counts them as held all the same."""
        self.bytes += size
        if self.bytes > self._most:
            words = f"the server reads {show_bytes(self._most)} of other requests already; try again in a moment"
            raise HttpProblem(503, words, headers={"Retry-After": "1"})


def digest_of(request: Request) -> str:
    """Tells whether two requests with an idempotency key sent the same; their parameters count too."""
    body = getattr(request.state, "body_digest", "")  # there is none without a body
    sent = f"{body} {request.url.query}"
    return blake2b(sent.encode(), digest_size=16).hexdigest()


def is_csv(request: Request) -> bool:
    return request.headers.get("Content-Type", "").split(";")[0].strip().lower() == "text/csv"


async def _read(request: Request, read: Callable[..., T], *args: Any) -> T:
    media_type = _media_type(request)
    limits = plane_of(request).settings.limits
    async with _received(request) as content:
        if _IDEMPOTENT in request.headers:
            request.state.body_digest = blake2b(content, digest_size=16).hexdigest()
        if content and media_type is None:
            raise HttpProblem(415, f"the body has no Content-Type; send {JSON} or {YAML}")
        given = (content, media_type or JSON, limits.max_body, *args)
        if len(content) <= SMALL_BYTES:
            return read(*given)
        bodies: BodiesInFlight = request.app.state.bodies
        try:
            async with bodies.turn(len(content)):
                return await elsewhere(limits.check_timeout, read, *given)
        except ReaderEnded:
            budget = format_duration(limits.check_timeout)
            words = f"takes more than {budget} to read and check; split it, or simplify it"
            raise Invalid([Complaint(SOURCE, None, "", words)]) from None


def _media_type(request: Request) -> str | None:
    """JSON, YAML, or None where nothing was said. Raises HttpProblem."""
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise HttpProblem(415, f"the body is encoded as {encoding[:40]!r}; send it plain")
    said = request.headers.get("Content-Type")
    if said is None:
        return None
    media_type, *parameters = (part.strip().lower() for part in said.split(";"))
    for parameter in parameters:
        if parameter.startswith("charset=") and parameter[8:].strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise HttpProblem(415, f"the body is said to be {parameter[:40]!r}; send it as UTF-8")
    if media_type == JSON or (media_type.startswith("application/") and media_type.endswith("+json")):
        return JSON
    if media_type in _YAML_TYPES:
        return YAML
    raise HttpProblem(415, f"{media_type[:60]!r} is not read here; send Content-Type: {JSON} or {YAML}")
