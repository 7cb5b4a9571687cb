"""Short requests over persistent connections: as much of HTTP/1.1 as the Kubernetes API needs.

A scheduler sends one small request a pod, so the cost of a request limits it. A general HTTP client costs several times
as much (`docs/decisions/0007-http-clients.md`); this one writes a request in one piece and parses the answer with
httptools.
Guarantees: a request is written at most once, except a GET whose idle connection the server closed before any answer,
which is written once more. Any other failure is `BrokenExchange`, and whether the server acted is unknown.
Left to others: answers that are streamed (`streaming_response`).
"""

import asyncio
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

import httptools

from dovetail.kubernetes_client.streaming_response import BrokenExchange, StreamingResponse
from dovetail.kubernetes_client.tunnel import AnyProtocol, Proxy

if TYPE_CHECKING:
    from dovetail.kubernetes_client.websocket import WebSocket

IDLE_S = 55.0
"""Kept connections are used for so long: servers and balancers close them after a minute or more."""
CONNECT_S = 10.0
LOOK_EVERY_S = 1.0
"""How often it is looked whether a request waits for longer than it may: one timer is cheaper than one a request."""
PROBE_AFTER_S, PROBE_EVERY_S, PROBES = 15, 5, 3


class HttpAnswer(NamedTuple):
    status: int
    content: bytes
    retry_after: str | None


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.idle_since = 0.0
        self.until_s = 0.0  # the answer is waited for
        self.late = False
        self._waiting: asyncio.Future[HttpAnswer] | None = None
        self.answered = False  # some of the answer has come
        self._close = False
        self._pieces: list[bytes] = []
        self._retry_after: str | None = None
        self._parser: Any = None

    # --- asyncio's side --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it

    def data_received(self, data: bytes) -> None:
        self.answered = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, AttributeError) as error:
            self.fail(f"what came is not HTTP: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self.fail(str(error) if error else "the connection was closed")

    # --- httptools' side -------------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # an interim response, such as 103
            self._pieces.clear()
            return
        self._close = not self._parser.should_keep_alive()
        content = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            self._close = True  # an answer that nothing waits for: the connection is of no use any more
            return
        waiting.set_result(HttpAnswer(status, content, self._retry_after))

    # --- ours ------------------------------------------------------------------------------------------------

    @property
    def usable(self) -> bool:
        return self.transport is not None and not self._close and not self.transport.is_closing()

    def ask(self, request: bytes, loop: asyncio.AbstractEventLoop) -> asyncio.Future[HttpAnswer]:
        self._parser = httptools.HttpResponseParser(self)
        self._waiting = waiting = loop.create_future()
        self.answered, self._pieces, self._retry_after = False, [], None
        if self.transport is None:
            self.fail("the connection was closed")
        else:
            self.transport.write(request)
        return waiting

    def fail(self, words: str) -> None:
        self._close = True
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(BrokenExchange(words))
        if self.transport is not None:
            self.transport.abort()


class HttpExchange:
    """A pool of connections to one server; whoever asks bounds how many are in use."""

    def __init__(
        self,
        server: str,
        trust: ssl.SSLContext | None,
        server_name: str | None,
        headers: dict[str, str],
        proxy: Proxy | None = None,
    ) -> None:
        parts = urlsplit(server)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if trust is not None else 80)
        self._base = parts.path.rstrip("/").encode("ascii")
        self._trust, self._proxy = trust, proxy
        self._server_name = (server_name or self._host) if trust is not None else None
        self._netloc, self._sent = parts.netloc.rpartition("@")[2], dict(headers)
        lines = {"Host": self._netloc, **headers}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode("latin-1")
        if proxy is not None and trust is None:  # the proxy is asked, for the whole address
            self._base = f"http://{lines['Host']}".encode("ascii") + self._base
            self._headers += proxy.header
            name, _, value = proxy.header.decode("latin-1").strip().partition(": ")
            self._sent |= {name: value} if name else {}
        self._idle: deque[_Connection] = deque()
        self._busy: set[_Connection] = set()
        self._lasting: set[StreamingResponse] = set()
        self._look: asyncio.TimerHandle | None = None

    async def ask(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None, timeout_s: float
    ) -> HttpAnswer:
        """`target` is a path with its query. Raises BrokenExchange, also when no answer came in time."""
        loop = asyncio.get_running_loop()
        request = self._request(method, target, headers, body)
        until_s = loop.time() + timeout_s
        while True:
            kept = self._take_kept()
            connection = kept or await self._connect(_Connection, min(CONNECT_S, timeout_s))
            connection.until_s = until_s
            self._busy.add(connection)
            if self._look is None:
                self._look = loop.call_at(min(until_s, loop.time() + LOOK_EVERY_S), self._look_for_late, loop)
            try:
                answer = await connection.ask(request, loop)
            except BrokenExchange:
                if connection.late:
                    raise BrokenExchange(f"no answer in {timeout_s:g} s") from None
                if kept is not None and method == "GET" and not connection.answered:
                    continue  # it had been closed while it was idle
                raise
            except asyncio.CancelledError:
                connection.fail("given up")  # an answer that comes later must not meet another request
                raise
            finally:
                self._busy.discard(connection)
            if connection.usable:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
            elif connection.transport is not None:
                connection.transport.close()
            return answer

    def _take_kept(self) -> _Connection | None:
        """The one used last: those not needed grow old and go."""
        now = time.monotonic()
        while self._idle and (not self._idle[0].usable or now - self._idle[0].idle_since > IDLE_S):
            old = self._idle.popleft()
            if old.transport is not None:
                old.transport.close()
        while self._idle:
            kept = self._idle.pop()
            if kept.usable:
                return kept
        return None

    def _look_for_late(self, loop: asyncio.AbstractEventLoop) -> None:
        self._look, now = None, loop.time()
        for connection in [one for one in self._busy if one.until_s <= now]:
            connection.late = True
            connection.fail("no answer in time")
        if self._busy:
            soonest = min(one.until_s for one in self._busy)
            self._look = loop.call_at(min(max(soonest, now), now + LOOK_EVERY_S), self._look_for_late, loop)

    async def follow(self, target: str, headers: dict[str, str], connect_s: float) -> StreamingResponse:
        """An answer that goes on, asked for on a connection of its own; whoever asked closes it."""
        request = self._request("GET", target, headers, None)
        found = await self._connect(lambda: StreamingResponse(request, self._lasting.discard), connect_s)
        if found.is_open:
            self._lasting.add(found)
        return found

    async def websocket(self, target: str, headers: Mapping[str, str], connect_s: float) -> "WebSocket":
        """On a connection of its own; whoever asked closes it. Raises UpgradeRefused."""
        from dovetail.kubernetes_client.websocket import ConnectionStreams, WebSocket

        found = WebSocket(await self._connect(ConnectionStreams, connect_s))
        try:
            async with asyncio.timeout(connect_s):
                await found.open(self._netloc, self._base.decode("ascii") + target, {**self._sent, **headers})
        except TimeoutError:
            found.close()
            raise BrokenExchange(f"no answer in {connect_s:g} s") from None
        except BaseException:
            found.close()
            raise
        return found

    def _request(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> bytes:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")
        first = method.encode() + b" " + self._base + target.encode("ascii") + b" HTTP/1.1\r\n"
        length = b"" if body is None else b"Content-Length: %d\r\n" % len(body)
        return b"".join((first, self._headers, head, length, b"\r\n", body or b""))

    async def _connect(self, factory: Callable[[], AnyProtocol], connect_s: float) -> AnyProtocol:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(connect_s):
                transport, connection = await self._way_there(factory, loop)
        except TimeoutError:
            raise BrokenExchange(f"no connection in {connect_s:g} s") from None
        except OSError as error:
            raise BrokenExchange(str(error) or type(error).__name__) from None
        _keep_alive(transport.get_extra_info("socket"))
        return connection

    async def _way_there(
        self, factory: Callable[[], AnyProtocol], loop: asyncio.AbstractEventLoop
    ) -> tuple[asyncio.BaseTransport, AnyProtocol]:
        if self._proxy is None:
            return await loop.create_connection(
                factory, self._host, self._port, ssl=self._trust, server_hostname=self._server_name
            )
        if self._trust is None:
            return await self._proxy.connect(factory)
        return await self._proxy.tunnel(factory, self._host, self._port, self._trust, self._server_name)

    def close(self) -> None:
        for connection in (*self._idle, *self._busy):
            connection.fail("closed")
        for lasting in (*self._lasting,):
            lasting.close()
        self._idle.clear()
        if self._look is not None:
            self._look.cancel()
            self._look = None


def _keep_alive(connected: Any) -> None:
    """Lets the kernel detect a dead peer of this socket."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_AFTER_S)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_EVERY_S)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
