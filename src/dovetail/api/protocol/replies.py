"""What a route answers, one class for each status code and media type.

A route names them in its return annotation, such as `Json[NodeDetail] | CreatedJson[NodeDetail]`: `openapi` describes
them, and mypy checks the content. orjson writes JSON; no model is built and nothing is validated on the way
(`dovetail.responses` has the measurement). When streams end, `streams` decides.
"""

from collections.abc import AsyncIterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import orjson
from starlette.responses import Response, StreamingResponse

T = TypeVar("T")


def json_bytes(content: Any) -> bytes:
    # Keys of rows from the store are the names of columns, which are a subclass of str.
    return orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)


class Json(Response, Generic[T]):
    """200 with a response model."""

    media_type = "application/json"
    status: ClassVar[int] = 200

    def __init__(self, content: T) -> None:
        super().__init__(content, self.status)

    def render(self, content: Any) -> bytes:
        return json_bytes(content)


class JsonText(Json[T]):
    """The same, from bytes that are JSON already."""

    def __init__(self, content: bytes) -> None:
        Response.__init__(self, content, self.status)

    def render(self, content: bytes) -> bytes:
        return content


class CreatedJson(Json[T]):
    """201: what the answer describes did not exist before."""

    status = 201


class AcceptedJson(Json[T]):
    """202: it will be done, but is not done yet."""

    status = 202


class NoContent(Response):
    """204: it is done, and there is nothing to say about it."""

    status: ClassVar[int] = 204

    def __init__(self) -> None:
        super().__init__(status_code=self.status)


class PlainText(Response):
    media_type = "text/plain"


class TextStream(StreamingResponse):
    """Text that goes on until it ends or the client hangs up."""

    media_type = "text/plain"


class EventStream(StreamingResponse, Generic[T]):
    """Server-sent events; the data of each is JSON of the type."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterable[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(content, headers=headers)
