"""Requests over kept connections: each is sent once, each answer is its own, and what breaks is said to have."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail.kubernetes_client.exchange import HttpExchange
from dovetail.kubernetes_client.streaming_response import BrokenExchange


def answer(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def request_from(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("Content-Length")), 0)
    return head, await reader.readexactly(length)


class Server:
    def __init__(self) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.connections = 0


@asynccontextmanager
async def serving(script: list[bytes | None]) -> AsyncIterator[tuple[Server, HttpExchange]]:
    """Answers requests one after the other with what the script says, whatever they are; None closes the connection."""
    server = Server()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            while True:
                server.requests.append(await request_from(reader))
                said = script.pop(0)
                if said is None:
                    break
                writer.write(said)
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    exchange = HttpExchange(f"http://127.0.0.1:{port}/prefix", None, None, {"User-Agent": "test"})
    try:
        yield server, exchange
    finally:
        exchange.close()
        listening.close()


async def get(exchange: HttpExchange, target: str = "/x", timeout_s: float = 20.0) -> bytes:
    return (await exchange.ask("GET", target, {}, None, timeout_s)).content


def test_requests_follow_each_other_on_one_connection() -> None:
    async def scene() -> None:
        async with serving([answer(b"one"), answer(b"two")]) as (server, exchange):
            assert await get(exchange, "/a?b=c") == b"one"
            said = await exchange.ask("POST", "/d", {"Content-Type": "text/plain"}, b"body", 20)
            assert (said.status, said.content, server.connections) == (200, b"two", 1)
            first, second = server.requests
            assert first[0].startswith("GET /prefix/a?b=c HTTP/1.1\r\nHost: 127.0.0.1")
            assert "Content-Type: text/plain\r\nContent-Length: 4" in second[0]
            assert second[1] == b"body"

    asyncio.run(scene())


def test_an_answer_may_come_in_chunks_or_late() -> None:
    async def scene() -> None:
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        busy = answer(b"busy", "Retry-After: 7")
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer(b"late")
        async with serving([chunked, busy, early]) as (server, exchange):
            assert await get(exchange) == b"abcde"
            said = await exchange.ask("GET", "/x", {}, None, 20)
            assert (said.content, said.retry_after) == (b"busy", "7")
            assert await get(exchange) == b"late"
            assert server.connections == 1

    asyncio.run(scene())


def test_a_kept_connection_that_was_closed_is_no_trouble_to_a_get() -> None:
    async def scene() -> None:
        async with serving([answer(b"one"), None, answer(b"two")]) as (server, exchange):
            assert await get(exchange) == b"one"
            assert await get(exchange) == b"two"
            assert (server.connections, len(server.requests)) == (2, 3)

    asyncio.run(scene())


def test_what_may_not_be_repeated_is_sent_once() -> None:
    async def scene() -> None:
        async with serving([answer(b"one"), None, answer(b"two")]) as (server, exchange):
            assert await get(exchange) == b"one"
            with pytest.raises(BrokenExchange):
                await exchange.ask("POST", "/x", {}, b"{}", 20)
            assert len(server.requests) == 2
            assert await get(exchange) == b"two"

    asyncio.run(scene())


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"what is this\r\n\r\n"])
def test_half_an_answer_is_none(said: bytes) -> None:
    async def scene() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await request_from(reader)
            writer.write(said)
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        exchange = HttpExchange(f"http://127.0.0.1:{port}", None, None, {})
        with pytest.raises(BrokenExchange):
            await get(exchange)
        listening.close()
        with pytest.raises(BrokenExchange, match="Connect"):
            await get(exchange)

    asyncio.run(scene())


def test_an_answer_that_comes_too_late_meets_no_other_request() -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head, _ = await request_from(reader)
            if "/slow" in head:
                await go.wait()
            writer.write(answer(b"slow" if "/slow" in head else b"quick"))
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        exchange = HttpExchange(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", None, None, {})
        with pytest.raises(BrokenExchange, match=r"no answer in 0\.1 s"):
            await get(exchange, "/slow", timeout_s=0.1)
        go.set()
        assert await get(exchange, "/quick") == b"quick"
        exchange.close()
        listening.close()

    asyncio.run(scene())


def test_a_server_that_closes_after_its_answer_is_connected_to_again() -> None:
    async def scene() -> None:
        async with serving([answer(b"one", "Connection: close"), answer(b"two")]) as (server, exchange):
            assert (await get(exchange), await get(exchange), server.connections) == (b"one", b"two", 2)

    asyncio.run(scene())
