"""The webhooks as a web application, and its server.

Guarantees: every answer is one that kube-scheduler can read, or an HTTP status with one line of text: 400 for
unreadable input, 413 for input that is too long, 503 until the cluster is known. A body is never buffered beyond its
limit. Answers are computed between two awaits, so the cluster does not change meanwhile. The server listens from the
start, so an address in use is reported at once. It keeps idle connections open longer than kube-scheduler does, so it
never closes one just as a request is sent.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from ssl import SSLContext
from typing import TypeVar

import orjson
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dovetail.kubernetes.extender.certificates import Certificates
from dovetail.kubernetes.extender.extender import Extender
from dovetail.kubernetes.extender.filter_verb import UnreadablePod
from dovetail.kubernetes.extender.wire import ExtenderArgs, ExtenderBindingArgs, ExtenderPreemptionArgs, Wire, faults

_log = logging.getLogger(__name__)

Model = TypeVar("Model", bound=Wire)
_JSON = "application/json"
NOT_READY = "does not know the cluster yet"
Handler = Callable[[Request], Awaitable[Response]]
_KEEP_ALIVE_S = 120  # of Go's usual 90 seconds
_FINISH_WITHIN_S = 2
_BACKLOG = 1024


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
        await extender.told_of(args.pod)
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
        except HTTPException:
            raise
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
        raise HTTPException(400, f"is not JSON: {error}") from None
    except ValidationError as error:
        raise HTTPException(400, faults(error, model)) from None


async def _body(request: Request, most: int) -> bytes:
    said = request.headers.get("content-length", "")
    too_long = HTTPException(
        413, f"longer than {most} bytes; have kube-scheduler send names only (nodeCacheCapable: true)"
    )
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


class _Server(uvicorn.Server):
    """The caller handles signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Said to be TCP, or asyncio does not tell the kernel to send answers at once: each would take 40 ms longer.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(_BACKLOG)
    except OSError:
        found.close()
        raise
    return found


async def serve(extender: Extender, listener: socket.socket, certificates: Certificates | None) -> None:
    """Until cancelled, or until following the cluster is impossible. None: plain HTTP. Requests that were accepted are
    answered before it returns, if that takes no longer than `_FINISH_WITHIN_S`."""
    server = _server(extender, None if certificates is None else certificates.context)
    async with asyncio.TaskGroup() as group:
        web = group.create_task(server.serve(sockets=[listener]), name="serve")
        working = [group.create_task(extender.run(), name="extend")]
        if certificates is not None:
            working.append(group.create_task(certificates.follow(), name="certificates"))
        try:
            await asyncio.wait([web])  # to be cancelled here does not cancel it
        finally:
            server.should_exit = True
            await web
            for task in working:
                task.cancel()


def _server(extender: Extender, context: SSLContext | None) -> _Server:
    config = uvicorn.Config(
        create_app(extender),
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_FINISH_WITHIN_S,
    )
    config.load()
    config.ssl = context
    return _Server(config)
