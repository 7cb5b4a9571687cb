"""The webhooks as a web application.

Guarantees: every answer is one that kube-scheduler can read, or an HTTP status with one line of text: 400 for
unreadable input, 413 for input that is too long, 503 until the cluster is known. A body is never buffered beyond its
limit. Answers are computed between two awaits, so the cluster does not change meanwhile.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import orjson
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dovetail.kubernetes.extender.extender import Extender
from dovetail.kubernetes.extender.filter_verb import UnreadablePod
from dovetail.kubernetes.extender.wire import ExtenderArgs, ExtenderBindingArgs, ExtenderPreemptionArgs, Wire, faults

_log = logging.getLogger(__name__)

Model = TypeVar("Model", bound=Wire)
_JSON = "application/json"
NOT_READY = "does not know the cluster yet"
Handler = Callable[[Request], Awaitable[Response]]


class _Refused(Exception):
    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def create_app(extender: Extender) -> Starlette:
    most = extender.settings.max_body_bytes

    async def filter_(request: Request) -> Response:
        args = await _read(request, ExtenderArgs, most)
        await extender.told_of(args.pod)
        return _json(extender.filter_verb.filter(args).to_json())

    async def prioritize(request: Request) -> Response:
        args = await _read(request, ExtenderArgs, most)
        return _json(orjson.dumps(extender.filter_verb.prioritize(args)))

    async def preempt(request: Request) -> Response:
        args = await _read(request, ExtenderPreemptionArgs, most)
        return _json(extender.preempt_verb.preempt(args).to_json())

    async def bind(request: Request) -> Response:
        args = await _read(request, ExtenderBindingArgs, most)
        return _json((await extender.bind_verb.bind(args)).to_json())

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok") if extender.ready else PlainTextResponse(NOT_READY, 503)

    verbs = {"filter": filter_, "prioritize": prioritize, "preempt": preempt, "bind": bind}
    routes = [Route(f"/{verb}", _answered(extender, one), methods=["POST"]) for verb, one in verbs.items()]
    return Starlette(routes=[*routes, Route("/healthz", healthz, methods=["GET"])])


def _answered(extender: Extender, handler: Handler) -> Handler:
    async def answer(request: Request) -> Response:
        if not extender.ready:
            return PlainTextResponse(NOT_READY, 503)
        try:
            return await handler(request)
        except _Refused as refused:
            return PlainTextResponse(str(refused), refused.status)
        except UnreadablePod as error:
            return PlainTextResponse(str(error), 422)
        except ClientDisconnect:
            return PlainTextResponse("the client is gone", 400)
        except Exception as error:  # a bug: logged here, and not sent to the client as a traceback
            _log.exception("%s failed", request.url.path)
            return PlainTextResponse(f"internal error: {type(error).__name__}", 500)

    return answer


async def _read(request: Request, model: type[Model], most: int) -> Model:
    body = await _body(request, most)
    try:
        return model.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise _Refused(400, f"is not JSON: {error}") from None
    except ValidationError as error:
        raise _Refused(400, faults(error)) from None


async def _body(request: Request, most: int) -> bytes:
    said = request.headers.get("content-length", "")
    too_long = _Refused(413, f"longer than {most} bytes; have kube-scheduler send names only (nodeCacheCapable: true)")
    if said.isascii() and said.isdigit() and int(said[:20]) > most:
        raise too_long
    pieces, length = [], 0
    async for piece in request.stream():
        length += len(piece)
        if length > most:
            raise too_long
        pieces.append(piece)
    return b"".join(pieces)


def _json(content: bytes) -> Response:
    return Response(content, media_type=_JSON)
