"""Reading what was sent: parameters that several routes take, and bodies of JSON or YAML as models.

Guarantees: a body is never held beyond `limits.max_body`, whether or not it said how long it is; whatever it holds,
the outcome is models, or a problem with everything that is wrong. Large bodies are read on threads of their own, so
that neither the loop nor the store waits for them. JSON is parsed strictly: no NaN, no infinity, UTF-8 only, and
nesting is bounded.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import Annotated, TypeVar

import orjson
from fastapi import Query, Request
from pydantic import BaseModel, Field

from dovetail.api.protocol.problems import HttpProblem
from dovetail.control.plane import ControlPlane
from dovetail.model.policy import Prose
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document, read_documents
from dovetail.model.text.quantity import show_bytes
from dovetail.model.text.reading import check_documents
from dovetail.model.workloads.reading import workloads_of
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

SOURCE = "request body"
SMALL_BYTES = 16 * 1024
JSON, YAML = "application/json", "application/yaml"
_YAML_TYPES = frozenset({YAML, "application/x-yaml", "text/yaml", "text/x-yaml"})
_WRAPPER = "workloads"
_IDEMPOTENT = "Idempotency-Key"

_readers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="read-body")


def plane_of(request: Request) -> ControlPlane:
    found = request.app.state.plane
    assert isinstance(found, ControlPlane)
    return found


async def workloads_in(request: Request) -> list[Workload]:
    """One workload, a list of them, or `{"workloads": […]}`."""
    most = plane_of(request).settings.limits.max_batch

    def read(documents: list[Document]) -> list[Workload]:
        items = [item for document in documents for item in _unwrapped(document).items()]
        if len(items) > most:
            words = f"holds {len(items)} workloads; the most at once is {most}: split the submission"
            raise Invalid([Complaint(SOURCE, None, "", words)])
        return workloads_of(items, SOURCE)

    return await _read(request, read)


async def model_in(request: Request, model: type[Model], defaults: dict[str, object] | None = None) -> Model:
    """Exactly one of the model. `defaults` fill in fields of a mapping that were left out; no body is `{}`."""

    def read(documents: list[Document]) -> Model:
        if len(documents) > 1:
            raise Invalid([Complaint(SOURCE, documents[1].line_of(()), "", "holds more than one document")])
        document = documents[0] if documents else Document({}, SOURCE)
        if isinstance(document.data, dict) and defaults:
            document = Document({**defaults, **document.data}, SOURCE, document.lines)
        return check_documents(model, [document])[0]

    return await _read(request, read)


async def content_in(request: Request) -> bytes:
    """What was sent, of whatever kind, as it is."""
    limit = plane_of(request).settings.limits.max_body
    too_large = HttpProblem(413, f"the body is larger than {show_bytes(limit)}, the most this server reads: split it")
    declared = request.headers.get("Content-Length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise too_large
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise too_large
        pieces.append(piece)
    return b"".join(pieces)


def digest_of(request: Request) -> str:
    """Tells whether two requests with an idempotency key sent the same; their parameters count too."""
    body = getattr(request.state, "body_digest", "")  # there is none without a body
    sent = f"{body} {request.url.query}"
    return blake2b(sent.encode(), digest_size=16).hexdigest()


def is_csv(request: Request) -> bool:
    return request.headers.get("Content-Type", "").split(";")[0].strip().lower() == "text/csv"


async def _read(request: Request, read: Callable[[list[Document]], T]) -> T:
    media_type = _media_type(request)
    content = await content_in(request)

    def whole() -> T:
        if _IDEMPOTENT in request.headers:
            request.state.body_digest = blake2b(content, digest_size=16).hexdigest()
        if not content.strip():
            return read([])
        if media_type == JSON:
            return read([_json(content)])
        return read(read_documents(content, SOURCE, plane_of(request).settings.limits.max_body))

    if not content and media_type is None:
        return read([])
    if media_type is None:
        raise HttpProblem(415, f"the body has no Content-Type; send {JSON} or {YAML}")
    if len(content) <= SMALL_BYTES:
        return whole()
    return await asyncio.get_running_loop().run_in_executor(_readers, whole)


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


def _json(content: bytes) -> Document:
    try:
        return Document(orjson.loads(content), SOURCE)
    except orjson.JSONDecodeError as error:
        words = f"is not JSON: {error.msg} (column {error.colno})"
        raise Invalid([Complaint(SOURCE, error.lineno, "", words)]) from None


def _unwrapped(document: Document) -> Document:
    data = document.data
    if isinstance(data, dict) and list(data) == [_WRAPPER] and isinstance(data[_WRAPPER], list):
        return Document(data[_WRAPPER], document.source, document.lines, (*document.at, _WRAPPER))
    return document
