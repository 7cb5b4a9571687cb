"""A connection to an engine that carries the input and the output of a process in place of HTTP.

The engine answers `101 Switching Protocols`; from then on both sides send bytes. What they mean is left to others.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol

import httptools

BLOCK_BYTES = 64 * 1024


class NotUpgraded(Exception):
    """The engine answered as usual: it refused."""

    def __init__(self, status: int, content: bytes) -> None:
        super().__init__(f"HTTP status {status}")
        self.status, self.content = status, content


class ReadingSide(Protocol):
    async def read(self, size: int, /) -> bytes: ...


class WritingSide(Protocol):
    def write(self, content: bytes, /) -> None: ...
    async def drain(self) -> None: ...
    def write_eof(self) -> None: ...
    def close(self) -> None: ...


class RawStream:
    def __init__(self, reader: ReadingSide, writer: WritingSide) -> None:
        self._reader, self._writer = reader, writer
        self._first = b""

    async def upgrade(self, target: str, host: str, body: Mapping[str, Any] | None) -> None:
        """Send the request. Raises NotUpgraded, and OSError if no answer comes."""
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"POST {target} HTTP/1.1", f"Host: {host}", "Connection: Upgrade", "Upgrade: tcp"]
        head += ["Content-Type: application/json", f"Content-Length: {len(content)}", "", ""]
        self._writer.write("\r\n".join(head).encode("ascii") + content)
        await self._writer.drain()
        answer = _Answer()
        parser = httptools.HttpResponseParser(answer)
        while not answer.complete:
            data = await self._reader.read(BLOCK_BYTES)
            if not data:
                raise ConnectionError("the engine closed the connection without an answer")
            try:
                parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgraded:
                self._first = data[upgraded.args[0] :]
                return
            except httptools.HttpParserError as error:
                raise ConnectionError(f"what came is not HTTP: {error}") from None
        raise NotUpgraded(parser.get_status_code(), answer.content)

    async def blocks(self) -> AsyncGenerator[bytes]:
        """What the engine sends, to the end."""
        block = self._first or await self._reader.read(BLOCK_BYTES)
        while block:
            yield block
            block = await self._reader.read(BLOCK_BYTES)

    async def write(self, content: bytes) -> None:
        self._writer.write(content)
        await self._writer.drain()

    async def end_input(self) -> None:
        self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()


class _Answer:
    def __init__(self) -> None:
        self.content = b""
        self.complete = False

    def on_body(self, body: bytes) -> None:
        self.content += body

    def on_message_complete(self) -> None:
        self.complete = True
