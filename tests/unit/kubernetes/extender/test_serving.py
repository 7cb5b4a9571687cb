"""The socket: taken or refused at once, and answers are not held back."""

import asyncio
import socket

import pytest

from dovetail.kubernetes.extender.app import listen


def test_answers_are_sent_at_once() -> None:
    """Nagle's algorithm would hold the end of each answer back until the client has acknowledged its beginning."""

    async def scene() -> int:
        delays: asyncio.Queue[int] = asyncio.Queue()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            delays.put_nowait(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen("127.0.0.1", 0) as listener:
            async with await asyncio.start_server(serve, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                found = await delays.get()
                writer.close()
        return found

    assert asyncio.run(scene())


def test_an_address_that_is_taken_is_refused() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", first.getsockname()[1])
