"""A server that answers what a test says, in order, and remembers what it was asked; for what no real server does at
will: to be too busy, to forget who one is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson


@dataclass
class Server:
    address: str = ""
    heads: list[str] = field(default_factory=list)
    """Request lines and headers."""


def said(status: int, body: object, *headers: str) -> bytes:
    content = orjson.dumps(body)
    lines = [f"HTTP/1.1 {status} Words", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + content


@asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[Server]:
    server, left = Server(), list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while left:
                server.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
                writer.write(left.pop(0))
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
