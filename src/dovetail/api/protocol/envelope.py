"""What goes around every request: an id, the origin it may come from, and a last net for errors.

Guarantees: every answer carries `X-Request-Id` (the caller's own, if it sent a sensible one); an exception that nothing
else caught is logged with that id and answered with a bare problem document. A browser that shows somebody else's page
cannot change anything here: such a request names an origin that is not this server.
"""

import re
import uuid
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail.api.protocol.problems import HttpProblem, answer_of, problem_of

REQUEST_ID = "X-Request-Id"
_SENSIBLE = re.compile(r"[A-Za-z0-9._:-]{1,100}", re.ASCII)
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})

log = structlog.get_logger()


class Envelope:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _SENSIBLE.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        begun = False

        async def send_with_id(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            if scope["method"] not in _HARMLESS and _foreign(headers):
                raise HttpProblem(
                    403, "this request comes from a page of another site; send it without an Origin header"
                )
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


def _foreign(headers: Headers) -> bool:
    origin = headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("Host")
