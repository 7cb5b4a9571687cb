"""A way to the API server through an HTTP proxy: what is written to the proxy, and the tunnel it opens.

Guarantees: to a server with TLS a tunnel is opened (CONNECT), and the server's certificate is checked inside it; a
server without TLS is asked for by its whole address. A proxy is `http://` or `https://`, with or without a
user and password.
"""

import asyncio
import base64
import ssl
from collections.abc import Callable
from typing import TypeVar, cast
from urllib.parse import unquote, urlsplit

from dovetail.kubernetes_client.streaming_response import BrokenExchange

_END = b"\r\n\r\n"
_LONGEST_ANSWER = 2**16

AnyProtocol = TypeVar("AnyProtocol", bound=asyncio.Protocol)


class _Opening(asyncio.Protocol):
    """What the proxy answers to CONNECT."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer = b""

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if self.opened.done() or (_END not in self._answer and len(self._answer) < _LONGEST_ANSWER):
            return
        line = self._answer.partition(b"\r\n")[0].decode("latin-1")
        if line.split(" ")[1:2] == ["200"]:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(BrokenExchange(f"the proxy opens no tunnel: {line}"))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(BrokenExchange(str(error) if error else "the proxy closed the connection"))


class Proxy:
    def __init__(self, url: str) -> None:
        """Raises ValueError for what is no proxy's address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a proxy that can be used; write it like http://host:3128")
        self._host, self._port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        self._trust = ssl.create_default_context() if parts.scheme == "https" else None
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
        known = parts.username is not None
        self.header = b"Proxy-Authorization: Basic " + base64.b64encode(user) + b"\r\n" if known else b""

    async def connect(self, factory: Callable[[], AnyProtocol]) -> tuple[asyncio.BaseTransport, AnyProtocol]:
        """A connection to the proxy itself. Raises OSError."""
        return await asyncio.get_running_loop().create_connection(factory, self._host, self._port, ssl=self._trust)

    async def tunnel(
        self, factory: Callable[[], AnyProtocol], host: str, port: int, trust: ssl.SSLContext, server_name: str | None
    ) -> tuple[asyncio.BaseTransport, AnyProtocol]:
        """A connection to the server, as `create_connection` has it. Raises OSError and BrokenExchange."""
        transport, opening = await self.connect(_Opening)
        try:
            there = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            head = f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n".encode("ascii")
            cast("asyncio.Transport", transport).write(head + self.header + b"\r\n")
            await opening.opened
            protocol = factory()
            start_tls = asyncio.get_running_loop().start_tls
            secured = await start_tls(
                cast("asyncio.Transport", transport), protocol, trust, server_hostname=server_name
            )
            if secured is None:
                raise BrokenExchange("the connection was closed")
        except BaseException:
            transport.close()
            raise
        protocol.connection_made(secured)
        return secured, protocol
