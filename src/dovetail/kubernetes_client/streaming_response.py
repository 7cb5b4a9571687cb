"""A streamed answer, such as a watch or a followed log: one connection, read piece by piece.

Guarantees: the reader gets everything that has arrived since in one piece, so a slow reader does not fall behind by the
number of pieces; a much too slow reader makes the server wait. An answer that breaks off, or is silent for too long, is
`BrokenExchange`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple, cast

import httptools

AHEAD_BYTES = 4 * 2**20
"""So much is read ahead of the reader; beyond it the server has to wait."""


class BrokenExchange(Exception):
    """No whole answer came."""


class ResponseHead(NamedTuple):
    status: int
    retry_after: str | None


class StreamingResponse(asyncio.Protocol):
    def __init__(self, request: bytes, closed: Callable[["StreamingResponse"], None]) -> None:
        self._request, self._closed = request, closed
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._head: ResponseHead | None = None
        self._retry_after: str | None = None
        self._measured = False  # the answer says itself where it ends
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._paused = False
        self._ended = False
        self._broken = ""
        self._news = asyncio.Event()

    # --- asyncio's side --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._broken = self._broken or f"what came is not HTTP: {error}"
            self.close()
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if not self._ended and (self._measured or error is not None or self._head is None):
            self._broken = self._broken or (str(error) if error else "the connection was closed")
        self._ended = True
        self._news.set()
        self._closed(self)

    # --- httptools' side -------------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif lowered in (b"content-length", b"transfer-encoding"):
            self._measured = True

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # anything else is an interim response
            self._head = ResponseHead(status, self._retry_after)

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._bytes += len(body)
        if self._bytes > AHEAD_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._head is not None:
            self._ended = True

    # --- ours ------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def head(self, at_most_s: float | None) -> ResponseHead:
        while self._head is None:
            if self._ended:
                raise BrokenExchange(self._broken)
            await self._more(at_most_s)
        return self._head

    async def pieces(self, silence_s: float | None) -> AsyncGenerator[bytes]:
        """As much as there is, as soon as there is something, to the end."""
        while True:
            if self._pieces:
                found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
                self._pieces, self._bytes = [], 0
                if self._paused and self._transport is not None:
                    self._paused = False
                    self._transport.resume_reading()
                yield found
            elif self._broken:
                raise BrokenExchange(self._broken)
            elif self._ended:
                return
            else:
                await self._more(silence_s)

    async def _more(self, at_most_s: float | None) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(at_most_s):
                await self._news.wait()
        except TimeoutError:
            self.close()
            raise BrokenExchange(f"nothing came for {at_most_s:g} s") from None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
