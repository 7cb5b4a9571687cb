"""Errors as problem documents (RFC 9457): every one of them, whatever raised it.

Guarantees: an answer that is not a success is `application/problem+json` with a type, a title, a status, a sentence
that says what to do, and the id of the request. Every answer carries that id as `X-Request-Id` (the caller's own, if it
sent a sensible one). What went wrong inside (a traceback, a path, a statement) goes to the log under that id, never to
the caller.
"""

import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import cast

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail.api.protocol.encoded_slashes import DECODED_PATH
from dovetail.api.protocol.known_hosts import KnownHosts, one_host
from dovetail.api.protocol.openapi import OPEN_PATHS, description_of
from dovetail.api.protocol.replies import json_bytes
from dovetail.control.errors import Conflict, NotFound, NotSupported, Unavailable
from dovetail.control.services.access import Caller
from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid, field_name
from dovetail.model.text.location import Location
from dovetail.model.text.wording import wording
from dovetail.responses.problems import FieldProblem, ProblemDocument
from dovetail.store.contract import StoreError

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
MAX_PATH = 300  # of an address that is echoed
REQUEST_ID = "X-Request-Id"
ROUTE = "route_template"  # in the state of a request that is answered without its route
_PREFIX = "/api/v1/"
_SENSIBLE = re.compile(r"[A-Za-z0-9._:-]{1,100}", re.ASCII)
PROBES = OPEN_PATHS  # whoever probes may call the server what it likes
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
_SLUGS = {
    400: ("bad-request", "The request cannot be understood"),
    401: ("unauthorized", "A token is needed"),
    403: ("forbidden", "Not allowed"),
    404: ("not-found", "There is no such thing"),
    405: ("method-not-allowed", "That cannot be done here"),
    408: ("timeout", "The request did not arrive in time"),
    409: ("conflict", "It contradicts what is there"),
    413: ("too-large", "The body is too large"),
    415: ("unsupported-media-type", "The body is in a format that is not read here"),
    421: ("misdirected", "This server has another name"),
    422: ("invalid", "What was sent cannot be used"),
    431: ("headers-too-large", "The headers are too large"),
    500: ("internal", "Something went wrong on the server"),
    503: ("unavailable", "Not now"),
}

#: A refusal and no failure of the server: what is asked for contradicts where the task runs.
_NOT_SUPPORTED = ("not-supported", "The backend cannot do that")

log = structlog.get_logger()


class HttpProblem(Exception):
    """Raised by a route that knows its answer."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: Sequence[Complaint] = (),
        headers: Mapping[str, str] | None = None,
        kind: tuple[str, str] | None = None,
    ) -> None:
        """`kind`: name and title, where they are not those of all problems with the status."""
        super().__init__(detail)
        self.kind = kind or _SLUGS.get(status) or (f"http-{status}", _phrase(status))
        self.status, self.detail, self.errors, self.headers = status, detail, errors, dict(headers or {})


def answer_of(problem: HttpProblem, path: str, request_id: str) -> Response:
    slug, title = problem.kind
    document: ProblemDocument = {
        "type": f"urn:dovetail:problem:{slug}",
        "title": title,
        "status": problem.status,
        "detail": problem.detail,
        "instance": path[:MAX_PATH],
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = [cast("FieldProblem", complaint.to_dict()) for complaint in problem.errors]
    return Response(json_bytes(document), problem.status, problem.headers, MEDIA_TYPE)


def problem_of(error: Exception) -> HttpProblem:
    """The problem behind an exception; an unexpected one reveals no details."""
    match error:
        case HttpProblem():
            return error
        case Invalid():
            return HttpProblem(422, str(error), errors=error.complaints)
        case NotFound():
            return HttpProblem(404, str(error))
        case Conflict():
            return HttpProblem(409, str(error))
        case NotSupported():
            return HttpProblem(409, str(error), kind=_NOT_SUPPORTED)
        case Unavailable():
            return HttpProblem(503, str(error), headers={"Retry-After": str(RETRY_AFTER_S)})
        case StoreError():
            log.error("the store failed", error=str(error))
            words = "the store cannot be used now; the server's log says why. Try again later"
            return HttpProblem(503, words, headers={"Retry-After": str(RETRY_AFTER_S)})
        case RequestValidationError():
            complaints = _parameters(error)
            return HttpProblem(422, "; ".join(map(str, complaints)), errors=complaints)
        case HTTPException(status_code=404):
            return HttpProblem(404, "nothing is at this address; GET /openapi.json lists what there is")
        case HTTPException():
            return HttpProblem(error.status_code, str(error.detail), headers=error.headers)
    return HttpProblem(500, "an unexpected error; the server's log tells more under the id of this request")


def install(app: FastAPI) -> None:
    """What a route raises becomes a problem document. What escapes even that is caught by `Envelope`."""

    async def answer(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem.status == 405:
            problem = await _wrong_method(app, request.url.path)
        path = request.scope.get(DECODED_PATH, request.url.path)
        return answer_of(problem, path, request.state.request_id)

    for kind in (
        *(HttpProblem, Invalid, NotFound, Conflict, NotSupported, Unavailable, StoreError),
        *(RequestValidationError, HTTPException),
    ):
        app.add_exception_handler(kind, answer)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


async def _wrong_method(app: FastAPI, path: str) -> HttpProblem:
    """Each route knows only its own method; the description knows all methods of a path."""
    described = await description_of(app)
    allowed = sorted(
        method.upper()
        for template, operations in described["paths"].items()
        if compile_path(template)[0].match(path)
        for method in operations
    )
    listed = ", ".join(allowed) or "GET"
    return HttpProblem(405, f"this address takes {listed}", headers={"Allow": listed})


def _parameters(error: RequestValidationError) -> list[Complaint]:
    """Complaints about the parameters of an address, in the words used for everything else that is written."""
    found = []
    for detail in error.errors()[:MAX_COMPLAINTS]:
        where, *path = detail["loc"]
        message, accepted = wording(detail, Location(None, tuple(path)), secret=False, about_key=False)
        found.append(Complaint(f"{where} parameter", None, field_name(tuple(path)), message, accepted))
    return found


def _template(scope: Scope) -> str:
    """The path of the route that answers; empty where none was reached. Routes do not know the prefix of all routes."""
    found = str(scope["state"].get(ROUTE) or getattr(scope.get("route"), "path", ""))
    lacks_prefix = found and scope["path"].startswith(_PREFIX) and not found.startswith(_PREFIX)
    return f"{_PREFIX}{found.removeprefix('/')}" if lacks_prefix else found


class Envelope:
    """Goes around every request: an id, the host and origin it may name, who calls, and a last net for errors.
    `caller`, given headers, method and path, says who calls, and raises HttpProblem for who may not. `observe` is told
    of each answer: method, template of the route, status, and the seconds until it began."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: KnownHosts,
        caller: Callable[[Headers, str, str], Caller | None],
        observe: Callable[[str, str, int, float], None],
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._caller = caller
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _SENSIBLE.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        began_at = time.perf_counter()
        begun = False

        async def send_with_id(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
                took_s = time.perf_counter() - began_at
                self._observe(scope["method"], _template(scope), message["status"], took_s)
            await send(message)

        try:
            self._check_host(headers, scope)
            scope["state"]["caller"] = self._caller(headers, scope["method"], scope["path"])
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            return  # the client is gone
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log.exception("unexpected error", request_id=request_id, method=scope["method"], path=scope["path"])
            if begun:
                raise  # too late for an answer; the server closes the connection
            await answer_of(problem, scope["path"], request_id)(scope, receive, send_with_id)

    def _check_host(self, headers: Headers, scope: Scope) -> None:
        """Raises HttpProblem for a request that was meant for another server, or that a stranger's page sent."""
        host = one_host(headers.getlist("Host"), scope["http_version"])
        if host is None:
            raise HttpProblem(400, "a request has exactly one Host header")
        unknown = self._hosts.unknown_name(host)
        if unknown is not None and scope["path"] not in PROBES:
            words = f"this server does not know itself as {unknown[:MAX_PATH]!r}"
            raise HttpProblem(421, f"{words}; use its address, or add the name to listen.names in its settings")
        origins = headers.getlist("Origin")
        if scope["method"] not in _HARMLESS and any(self._hosts.is_foreign(origin, host) for origin in origins):
            raise HttpProblem(403, "this request comes from a page of another site; send it without an Origin header")
