"""Answers that go on: what came is given in one piece, and an end that is none is said to be one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail.kubernetes_client import streaming_response as module
from dovetail.kubernetes_client.exchange import HttpExchange
from dovetail.kubernetes_client.streaming_response import BrokenExchange, StreamingResponse

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


@asynccontextmanager
async def following(*said: bytes, stays: bool = False) -> AsyncIterator[StreamingResponse]:
    """The server says these pieces, each a moment after the other, and closes, or stays silent."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in said:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        if stays:
            await reader.read()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    exchange = HttpExchange(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", None, None, {})
    try:
        yield await exchange.follow("/x?watch=true", {}, 10.0)
    finally:
        exchange.close()
        listening.close()


async def read(lasting: StreamingResponse) -> list[bytes]:
    return [piece async for piece in lasting.pieces(10.0)]


def test_it_is_given_as_it_comes_to_its_end() -> None:
    async def scene() -> None:
        async with following(CHUNKED + chunk(b"one"), chunk(b"two") + chunk(b"three"), b"0\r\n\r\n") as lasting:
            head = await lasting.head(10.0)
            assert (head.status, head.retry_after) == (200, None)
            assert await read(lasting) == [b"one", b"twothree"]

    asyncio.run(scene())


def test_one_that_breaks_off_is_broken_after_what_had_come() -> None:
    async def scene() -> None:
        async with following(CHUNKED + chunk(b"one")) as lasting:
            pieces = lasting.pieces(10.0)
            assert await anext(pieces) == b"one"
            with pytest.raises(BrokenExchange, match="closed"):
                await anext(pieces)

    asyncio.run(scene())


def test_one_that_does_not_say_how_long_it_is_ends_with_its_connection() -> None:
    async def scene() -> None:
        async with following(b"HTTP/1.1 200 OK\r\n\r\nall of it") as lasting:
            assert await read(lasting) == [b"all of it"]

    asyncio.run(scene())


@pytest.mark.parametrize("said", [b"", b"what is this\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_no_answer_is_none(said: bytes) -> None:
    async def scene() -> None:
        async with following(said) as lasting:
            with pytest.raises(BrokenExchange):
                await lasting.head(10.0)

    asyncio.run(scene())


def test_silence_is_borne_for_so_long() -> None:
    async def scene() -> None:
        async with following(CHUNKED + chunk(b"one"), stays=True) as lasting:
            pieces = lasting.pieces(0.1)
            assert await anext(pieces) == b"one"
            with pytest.raises(BrokenExchange, match=r"nothing came for 0\.1 s"):
                await anext(pieces)
        async with following(stays=True) as lasting:
            with pytest.raises(BrokenExchange, match=r"nothing came for 0\.1 s"):
                await lasting.head(0.1)

    asyncio.run(scene())


def test_a_refusal_has_its_words() -> None:
    async def scene() -> None:
        head = b"HTTP/1.1 429 Words\r\nRetry-After: 7\r\nContent-Length: 6\r\n\r\n"
        async with following(head + b"ref", b"use") as lasting:
            said = await lasting.head(10.0)
            assert (said.status, said.retry_after) == (429, "7")
            assert b"".join(await read(lasting)) == b"refuse"

    asyncio.run(scene())


def test_the_server_waits_for_a_reader_who_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AHEAD_BYTES", 1000)
    content = [b"%07d" % number * 100 for number in range(2000)]

    async def scene() -> None:
        async with following(CHUNKED, chunk(b"".join(content)), b"0\r\n\r\n") as lasting:
            await lasting.head(10.0)
            await asyncio.sleep(0.2)
            most = 0
            found = []
            async for piece in lasting.pieces(10.0):
                most = max(most, len(piece))
                found.append(piece)
                await asyncio.sleep(0)
            assert b"".join(found) == b"".join(content)
            assert most < len(b"".join(content)) / 2

    asyncio.run(scene())
