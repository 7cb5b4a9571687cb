"""A short way for what agents send all the time: heartbeats, and requests that wait for orders.

Thousands of agents ask nothing else, and most of what a request costs is the way to its route. This takes a request
that `nodes.heartbeat` or `nodes.orders` would answer with success, and answers the same. It passes on everything else
as it came, also what fails here: the route then says why. Who may ask was checked before (`protocol.problems`).
"""

import asyncio
import re
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail.api.nodes.agents import Heartbeat, moves_in, orders_of, reports_in
from dovetail.api.protocol.long_poll import LONGEST_WAIT_S
from dovetail.api.protocol.problems import ROUTE
from dovetail.api.protocol.reading import check_keys
from dovetail.api.protocol.replies import json_bytes
from dovetail.backends.registered.protocol import HeartbeatReply
from dovetail.control.errors import ControlError
from dovetail.control.plane import ControlPlane
from dovetail.model.text.complaint import Invalid

MOST_BYTES = 64 * 1024  # of a heartbeat; reading so much takes about a millisecond
_HEARTBEAT = re.compile(r"/api/v1/nodes/([^/]+)/heartbeat")
_ORDERS = re.compile(r"/api/v1/nodes/([^/]+)/orders")
_ROUTES = {"POST": "/api/v1/nodes/{name}/heartbeat", "GET": "/api/v1/nodes/{name}/orders"}
_QUERY = re.compile(rb"after=\d{1,18}&wait_s=\d{1,3}(\.\d{1,6})?")
_JSON = (b"content-type", b"application/json")


class FastReports:
    def __init__(self, app: ASGIApp, plane: ControlPlane, routes: FastAPI) -> None:
        self._app, self._plane, self._routes = app, plane, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply: HeartbeatReply | None = None
        if scope["type"] == "http":
            path = scope["path"]
            if scope["method"] == "POST" and (found := _HEARTBEAT.fullmatch(path)) and _JSON in scope["headers"]:
                first = await receive()
                reply = await self._heartbeat(found[1], first)
                receive = _again(first, receive)
            elif scope["method"] == "GET" and (found := _ORDERS.fullmatch(path)):
                reply = await self._orders(found[1], scope["query_string"])
        if reply is None:
            await self._app(scope, receive, send)
            return
        scope["state"][ROUTE] = _ROUTES[scope["method"]]
        body = json_bytes(orders_of(reply))
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [length, _JSON]})
        await send({"type": "http.response.body", "body": body})

    async def _heartbeat(self, name: str, message: Message) -> HeartbeatReply | None:
        body = message.get("body", b"")
        if message["type"] != "http.request" or message.get("more_body") or not 0 < len(body) <= MOST_BYTES:
            return None
        try:
            check_keys(body)
            heard = Heartbeat.model_validate_json(body)
            used = None if heard.used is None else heard.used.amounts()
            told, moves = reports_in(heard), moves_in(heard)
            return await self._plane.nodes.heartbeat(name, used, told, answers=heard.answers, moves=moves)
        except (ValueError, Invalid, ControlError):  # also what Pydantic raises
            return None

    async def _orders(self, name: str, query: bytes) -> HeartbeatReply | None:
        """None when the server stops, too."""
        if not _QUERY.fullmatch(query):
            return None
        asked: dict[str, Any] = dict(parse_qsl(query.decode()))
        if (wait_s := float(asked["wait_s"])) > LONGEST_WAIT_S:
            return None
        wait = asyncio.ensure_future(self._plane.nodes.orders(name, int(asked["after"]), wait_s))
        closing = asyncio.ensure_future(self._routes.state.closing.wait())
        try:
            await asyncio.wait({wait, closing}, return_when=asyncio.FIRST_COMPLETED)
            return wait.result() if wait.done() else None
        except ControlError:
            return None
        finally:
            wait.cancel()
            closing.cancel()


def _again(first: Message, receive: Receive) -> Receive:
    """The same messages from the beginning."""
    begun = False

    async def received() -> Message:
        nonlocal begun
        if begun:
            return await receive()
        begun = True
        return first

    return received
