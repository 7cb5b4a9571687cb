"""A WebSocket to the API server, with the channels of exec and attach: v5.channel.k8s.io, or v4 of older servers.

Each message begins with the number of its channel. Guarantees: a refused upgrade is raised as one of `errors`; a
connection that breaks off is `BrokenExchange`. wsproto knows the protocol, this module the connection.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from dovetail.kubernetes_client.streaming_response import BrokenExchange

STDIN, STDOUT, STDERR, OUTCOME, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
CLOSING_PROTOCOL = "v5.channel.k8s.io"  # it can say that the input has ended
PROTOCOLS = [CLOSING_PROTOCOL, "v4.channel.k8s.io"]
BLOCK_BYTES = 64 * 1024


class UpgradeRefused(Exception):
    """The server answered as usual."""

    def __init__(self, status: int, content: bytes) -> None:
        super().__init__(f"HTTP status {status}")
        self.status, self.content = status, content


class ConnectionStreams(asyncio.StreamReaderProtocol):
    """A connection as a reader and a writer."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader()
        super().__init__(self.reader)
        self.writer: asyncio.StreamWriter | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        loop = asyncio.get_running_loop()
        self.writer = asyncio.StreamWriter(transport, self, self.reader, loop)  # type: ignore[arg-type]


class WebSocket:
    def __init__(self, streams: ConnectionStreams) -> None:
        assert streams.writer is not None
        self._reader, self._writer = streams.reader, streams.writer
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._events: deque[Event] = deque()
        self._message = b""
        self._subprotocol: str | None = None

    @property
    def can_end_input(self) -> bool:
        return self._subprotocol == CLOSING_PROTOCOL

    async def open(self, host: str, target: str, headers: Mapping[str, str]) -> None:
        """Raises UpgradeRefused and BrokenExchange."""
        extra = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send(Request(host=host, target=target, extra_headers=extra, subprotocols=list(PROTOCOLS)))
        content, status = b"", 0
        while True:
            event = await self._next()
            if isinstance(event, AcceptConnection):
                self._subprotocol = event.subprotocol
                return
            if isinstance(event, RejectConnection):
                status = event.status_code
            elif isinstance(event, RejectData):
                content += bytes(event.data)
            if status and (not isinstance(event, RejectData) or event.body_finished):
                if isinstance(event, RejectConnection) and event.has_body:
                    continue
                raise UpgradeRefused(status, content)

    async def send(self, channel: int, content: bytes) -> None:
        await self._send(BytesMessage(data=bytes([channel]) + content))

    async def end_input(self) -> None:
        if self.can_end_input:
            await self.send(CLOSE, bytes([STDIN]))

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message, its channel first; None when the server has closed."""
        while True:
            event = await self._next()
            if isinstance(event, CloseConnection):
                return None
            if isinstance(event, Ping):
                await self._send(event.response())
            elif isinstance(event, BytesMessage | TextMessage):
                self._message += event.data.encode() if isinstance(event, TextMessage) else bytes(event.data)
                if event.message_finished:
                    whole, self._message = self._message, b""
                    if whole:
                        return whole[0], whole[1:]

    def close(self) -> None:
        self._writer.close()

    async def _send(self, event: Any) -> None:
        try:
            self._writer.write(self._protocol.send(event))
            await self._writer.drain()
        except (OSError, ProtocolError) as error:
            raise BrokenExchange(str(error) or type(error).__name__) from None

    async def _next(self) -> Event:
        while not self._events:
            try:
                self._protocol.receive_data(await self._reader.read(BLOCK_BYTES) or None)
                self._events.extend(self._protocol.events())
            except (OSError, ProtocolError) as error:
                raise BrokenExchange(str(error) or type(error).__name__) from None
            if not self._events and self._reader.at_eof():
                raise BrokenExchange("the connection was closed")
        return self._events.popleft()
