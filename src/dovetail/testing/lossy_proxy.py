"""A network with faults on demand: a proxy between a backend and its system.

    with LossyProxy("127.0.0.1:6443") as proxy:          # or the path of a unix socket
        backend = MyBackend(url=f"https://{proxy.address}")
        Subject(..., cut_replies=proxy.cut_replies, break_calls=proxy.break_calls, hold_reply=proxy.hold_reply)

It listens on the same kind of socket as its upstream and forwards bytes unchanged, so TLS passes through it. Only
`hold_reply` looks for a key in requests, and cannot see encrypted ones. For a backend that can speak plain HTTP, use
`LossyProxy("127.0.0.1:6443", tls=ssl.create_default_context(cafile=…))`: only the connection from the proxy to the
system is then encrypted. The proxy runs on its own thread, because each test has its own event loop.
"""

import asyncio
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Self

PIECE_BYTES = 65536


class _Wire:
    """One connection, in both directions."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.asked = b""  # since the last reply
        self.held = asyncio.Event()
        self.held.set()

    def cut(self) -> None:
        for side in (self.client, self.server):
            side.transport.abort()


class LossyProxy:
    """`upstream` is `host:port` or the path of a unix socket; `address` is where the proxy listens, in the same form.

    `tls`: the proxy uses TLS to the system at `host:port`, and accepts plain connections at `address`.
    """

    def __init__(self, upstream: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._upstream = upstream
        self._tls = tls
        self._unix = "/" in upstream
        if self._unix and tls is not None:
            raise ValueError(f"TLS is spoken to host:port only, and {upstream} is a unix socket: leave tls out")
        self._folder = tempfile.TemporaryDirectory(prefix="lossy-proxy-") if self._unix else None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lossy proxy", daemon=True)
        self._wires: set[_Wire] = set()
        self._loses_replies = self._broken = False
        self._held_key: bytes | None = None
        self.address = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self.address = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._folder is not None:
            self._folder.cleanup()

    # --- hooks of a Subject ------------------------------------------------------------------------------------

    @asynccontextmanager
    async def cut_replies(self) -> AsyncIterator[None]:
        """Requests arrive; the connection is cut at the first byte of the reply."""
        self._loses_replies = True
        try:
            yield
        finally:
            self._loses_replies = False

    @asynccontextmanager
    async def break_calls(self) -> AsyncIterator[None]:
        """Every connection is cut, and new ones as soon as they are made."""
        with self.broken():
            yield

    @asynccontextmanager
    async def hold_reply(self, key: str) -> AsyncIterator[None]:
        """Replies to requests about this key are held until the end of the block; others are not."""
        self._held_key = key.encode()
        try:
            yield
        finally:
            self._held_key = None
            self._loop.call_soon_threadsafe(self._release_held)

    @contextmanager
    def broken(self) -> Iterator[None]:
        """`break_calls` for synchronous callers."""
        self._broken = True
        asyncio.run_coroutine_threadsafe(self._cut_all(), self._loop).result()
        try:
            yield
        finally:
            self._broken = False

    # --- on the thread of the proxy ----------------------------------------------------------------------------

    async def _listen(self) -> str:
        if self._folder is not None:
            path = str(Path(self._folder.name) / "socket")
            self._server = await asyncio.start_unix_server(self._serve, path)
            return path
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def _end(self) -> None:
        self._server.close()
        self._release_held()
        await self._cut_all()
        here = asyncio.current_task()
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not here), return_exceptions=True)

    async def _serve(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await self._connect()
        except OSError:
            to_client.transport.abort()
            return
        wire = _Wire(to_client, to_server)
        if self._broken:  # meanwhile
            wire.cut()
            return
        self._wires.add(wire)
        try:
            await asyncio.gather(self._forward_requests(from_client, wire), self._forward_replies(from_server, wire))
        finally:
            self._wires.discard(wire)
            wire.cut()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._broken:
            raise ConnectionResetError
        if self._unix:
            return await asyncio.open_unix_connection(self._upstream)
        host, _, port = self._upstream.rpartition(":")
        return await asyncio.open_connection(host, int(port), ssl=self._tls)

    async def _forward_requests(self, source: asyncio.StreamReader, wire: _Wire) -> None:
        half_closes = wire.server.can_write_eof()
        with suppress(OSError):
            while piece := await source.read(PIECE_BYTES):
                wire.asked = (wire.asked + piece)[-PIECE_BYTES:]
                if self._held_key is not None and self._held_key in wire.asked:
                    wire.held.clear()
                wire.server.write(piece)
                await wire.server.drain()
            if half_closes:
                wire.server.write_eof()
        if not half_closes:  # TLS has no half-closed connections: close both directions
            wire.cut()

    async def _forward_replies(self, source: asyncio.StreamReader, wire: _Wire) -> None:
        with suppress(OSError):
            while piece := await source.read(PIECE_BYTES):
                if self._loses_replies:
                    break
                await wire.held.wait()
                wire.asked = b""
                wire.client.write(piece)
                await wire.client.drain()
        wire.cut() if self._loses_replies else wire.client.close()

    async def _cut_all(self) -> None:
        for wire in self._wires:
            wire.cut()

    def _release_held(self) -> None:
        for wire in self._wires:
            wire.held.set()
