"""Requests to one API server, over a pool of persistent connections.

Guarantees: an answer that is not a success is raised as one of `errors`; rejected credentials are renewed once; a 429
with `Retry-After` is repeated a few times. Other requests are not repeated: only the caller knows whether that is
safe. At most `width` requests are under way at a time, in order of arrival. Watches and followed logs have connections
of their own and do not count.

TCP keep-alive detects dead peers, so a watch does not hang on a connection without a server.
"""

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

import orjson

from dovetail.asyncio_tasks import cancel
from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.errors import ApiUnreachable, KubernetesApiError, Throttled, Unauthorized, error_of
from dovetail.kubernetes_client.exchange import HttpAnswer, HttpExchange
from dovetail.kubernetes_client.streaming_response import BrokenExchange, ResponseHead
from dovetail.kubernetes_client.tunnel import Proxy

if TYPE_CHECKING:
    from dovetail.kubernetes_client.websocket import WebSocket

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
USER_AGENT = "dovetail"
PATIENT_TIMES = 5
"""How often a request that the server asks to send again later is sent again."""
LONGEST_WAIT_S = 30.0
FIRST_FAILURE = 400
PAGE = 1000
TURNS_TO_SEND = 3
"""Of the event loop, until a new request has been sent: the consumer of a page may block the loop for long."""
LARGE_BYTES = 50_000

JsonObject = dict[str, Any]
Params = Mapping[str, str | int]


class Api:
    """Opened by `async with`, or by the first request; `close` it."""

    def __init__(self, access: Access, *, width: int = 32, timeout_s: float = 30.0, agent: str = USER_AGENT) -> None:
        self.access = access
        self._timeout_s = timeout_s
        headers = {"User-Agent": agent, "Accept": JSON, "Accept-Encoding": "identity"}
        proxy = Proxy(access.proxy) if access.proxy else None
        self._exchange = HttpExchange(access.server, access.trust, access.server_name, headers, proxy)
        self._width = asyncio.Semaphore(width)
        self._ahead: dict[tuple[str, int], asyncio.Task[bytes]] = {}

    def widen(self, width: int) -> None:
        """Allow `width` requests at a time from now on."""
        self._width = asyncio.Semaphore(width)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await cancel(*self._ahead.values())
        self._ahead.clear()
        self._exchange.close()

    # --- one object ------------------------------------------------------------------------------------------

    async def get(self, path: str, params: Params | None = None) -> JsonObject:
        return _decoded(await self.send("GET", path, params))

    async def create(self, path: str, body: JsonObject) -> JsonObject:
        return _decoded(await self.send("POST", path, None, orjson.dumps(body)))

    async def replace(self, path: str, body: JsonObject) -> JsonObject:
        """Raises ObjectConflict if the body's resourceVersion is not the latest."""
        return _decoded(await self.send("PUT", path, None, orjson.dumps(body)))

    async def patch(
        self, path: str, body: JsonObject | list[JsonObject], params: Params | None = None, kind: str = MERGE_PATCH
    ) -> JsonObject:
        return _decoded(await self.send("PATCH", path, params, orjson.dumps(body), kind))

    async def delete(self, path: str, body: JsonObject | None = None, params: Params | None = None) -> JsonObject:
        return _decoded(await self.send("DELETE", path, params, orjson.dumps(body) if body else None))

    # --- many objects ----------------------------------------------------------------------------------------

    async def pages(self, path: str, params: Params | None = None, limit: int = PAGE) -> AsyncGenerator[JsonObject]:
        """A collection page by page, all of one version: each is a List with `items` and `metadata`. The next page is
        requested while one is read. Raises Gone when the version is too old to go on. `limit` 0: all at once."""
        asked: dict[str, str | int] = dict(params or {})
        if limit:
            asked["limit"] = limit
        coming = None if params else self._ahead.pop((path, limit), None)
        coming = coming or asyncio.create_task(self.send("GET", path, asked))
        try:
            while True:
                page = _decoded(await coming)
                token = page["metadata"].get("continue")
                if token:
                    asked = {**asked, "continue": token}
                    asked.pop("resourceVersion", None)  # the token has it
                    coming = asyncio.create_task(self.send("GET", path, asked))
                    for _ in range(TURNS_TO_SEND):
                        await asyncio.sleep(0)
                yield page
                if not token:
                    return
        finally:
            await cancel(coming)

    def ask_ahead(self, path: str, limit: int = PAGE) -> asyncio.Task[bytes]:
        """Request the first page of a collection now; the next call of `pages` gets it."""
        found = self._ahead[path, limit] = asyncio.create_task(self.send("GET", path, {"limit": limit}))
        return found

    async def items(self, path: str, params: Params | None = None) -> list[JsonObject]:
        """A small collection as one list."""
        return [item async for page in self.pages(path, params) for item in page.get("items") or ()]

    # --- requests --------------------------------------------------------------------------------------------

    async def send(
        self, method: str, path: str, params: Params | None = None, body: bytes | None = None, kind: str = JSON
    ) -> bytes:
        """The answer as it came."""
        target = f"{path}?{urlencode(params)}" if params else path
        times = PATIENT_TIMES
        renewed = False
        while True:
            try:
                async with self._width:
                    return await self._once(method, target, body, kind)
            except Unauthorized:
                if renewed:
                    raise
                renewed = True
                self.access.credentials.reject()
            except Throttled as error:
                if not times or error.retry_after_s is None:
                    raise
                times -= 1
                await asyncio.sleep(min(error.retry_after_s, LONGEST_WAIT_S))

    async def _once(self, method: str, target: str, body: bytes | None, kind: str) -> bytes:
        headers = await self._headers_for(kind if body is not None else None)
        try:
            answer = await self._exchange.ask(method, target, headers, body, self._timeout_s)
        except BrokenExchange as error:
            raise ApiUnreachable(self._words(error)) from None
        if answer.status < FIRST_FAILURE:
            return answer.content
        raise failure_of(answer)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Params | None = None, *, silence_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """An answer that goes on for long, piece by piece. Raises ApiUnreachable, also while it is read, when the
        connection breaks or nothing came for `silence_s`."""
        target = f"{path}?{urlencode(params)}" if params else path
        for again in (True, False):
            headers = await self._headers_for(None)
            try:
                async with self._follow(target, headers, silence_s) as (head, pieces):
                    if head.status < FIRST_FAILURE:
                        yield pieces
                        return
                    content = b"".join([piece async for piece in pieces])
                    failure = failure_of(HttpAnswer(head.status, content, head.retry_after))
            except BrokenExchange as error:
                raise ApiUnreachable(self._words(error)) from None
            if not (again and isinstance(failure, Unauthorized)):
                raise failure
            self.access.credentials.reject()

    async def websocket(self, path: str, params: Sequence[tuple[str, str]]) -> "WebSocket":
        """Opened; whoever asked closes it."""
        from dovetail.kubernetes_client.websocket import UpgradeRefused

        target = f"{path}?{urlencode(params)}"
        for again in (True, False):
            try:
                return await self._exchange.websocket(target, await self._headers_for(None), self._timeout_s)
            except UpgradeRefused as error:
                failure = failure_of(HttpAnswer(error.status, error.content, None))
            except BrokenExchange as error:
                raise ApiUnreachable(self._words(error)) from None
            if not (again and isinstance(failure, Unauthorized)):
                raise failure
            self.access.credentials.reject()
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def _follow(
        self, target: str, headers: dict[str, str], silence_s: float | None
    ) -> AsyncIterator[tuple[ResponseHead, AsyncIterator[bytes]]]:
        lasting = await self._exchange.follow(target, headers, self._timeout_s)
        try:
            head = await lasting.head(silence_s)
            async with aclosing(lasting.pieces(silence_s)) as pieces:
                yield head, pieces
        finally:
            lasting.close()

    async def _headers_for(self, kind: str | None) -> dict[str, str]:
        headers: dict[str, str] = {}
        authorization = await self.access.credentials.header()
        if authorization is not None:
            headers["Authorization"] = authorization
        if kind is not None:
            headers["Content-Type"] = kind
        return headers

    def _words(self, error: BaseException) -> str:
        words = str(error) or type(error).__name__
        return f"no answer from the Kubernetes API at {self.access.server}: {words}"


def failure_of(answer: HttpAnswer) -> KubernetesApiError:
    try:
        said: Any = orjson.loads(answer.content)
    except ValueError:
        said = answer.content.decode(errors="replace")
    after = answer.retry_after
    return error_of(answer.status, said, float(after) if after and after.isdigit() else None)


def decode(content: bytes) -> Any:
    """JSON from the API server. A large list makes hundreds of thousands of dicts at once, none of them garbage: the
    collector, which would walk through them again and again, waits meanwhile. With it decoding takes four times as
    long."""
    if len(content) < LARGE_BYTES or not gc.isenabled():
        return orjson.loads(content)
    gc.disable()
    try:
        return orjson.loads(content)
    finally:
        gc.enable()


def _decoded(content: bytes) -> JsonObject:
    answer: JsonObject = decode(content)
    return answer
