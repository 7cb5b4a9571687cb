"""Busy servers are asked again when they say so, rejected credentials are renewed once, and proxies are used."""

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop
from tests.unit.kubernetes_client.wire import said, serving

from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import Fixed, TokenFile
from dovetail.kubernetes_client.errors import ObjectNotFound, Throttled, Unauthorized

BUSY = {"code": 429, "reason": "TooManyRequests", "message": "too many requests"}
UNKNOWN = {"code": 401, "reason": "Unauthorized", "message": "Unauthorized"}


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    async def scene() -> None:
        answers = said(429, BUSY, "Retry-After: 0"), said(200, {"ok": 1})
        async with serving(*answers) as server, Api(Access(f"http://{server.address}", Fixed())) as api:
            assert await api.get("/x") == {"ok": 1}
            assert len(server.heads) == 2

    asyncio.run(scene())


def test_a_busy_server_that_does_not_say_when_is_left_to_the_caller() -> None:
    async def scene() -> None:
        async with serving(said(429, BUSY)) as server, Api(Access(f"http://{server.address}", Fixed())) as api:
            with pytest.raises(Throttled, match="too many requests"):
                await api.get("/x")
            assert len(server.heads) == 1

    asyncio.run(scene())


def test_a_token_that_was_exchanged_is_read_again(tmp_path: Path) -> None:
    async def scene() -> None:
        path = tmp_path / "token"
        path.write_text("old")
        answers = [said(200, {}), said(401, UNKNOWN), said(200, {"ok": 1}), said(401, UNKNOWN), said(401, UNKNOWN)]
        async with serving(*answers) as server, Api(Access(f"http://{server.address}", TokenFile(path))) as api:
            await api.get("/x")
            path.write_text("new")
            assert await api.get("/x") == {"ok": 1}
            assert ["Bearer old" in head for head in server.heads] == [True, True, False]
            with pytest.raises(Unauthorized):
                await api.get("/x")
            assert len(server.heads) == 5

    asyncio.run(scene())


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_next_piece_of_a_list_is_asked_for_before_one_is_looked_at(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Whoever looks at it keeps the loop to himself, and the server is to be at work meanwhile."""
    pages = [{"metadata": {"continue": "more"}, "items": [1]}, {"metadata": {}, "items": [2]}]
    asked = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        line, _ = listening.accept()
        with line:
            line.recv(65536)
            line.sendall(said(200, pages[0]))
            assert line.recv(65536).startswith(b"GET /x?limit=1&continue=more ")
            asked.set()
            line.sendall(said(200, pages[1]))

    async def scene() -> list[int]:
        found = []
        async with Api(Access(f"http://127.0.0.1:{listening.getsockname()[1]}", Fixed())) as api:
            async for page in api.pages("/x", limit=1):
                assert asked.wait(20)
                found += page["items"]
        return found

    server = threading.Thread(target=serve)
    server.start()
    with listening, asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(scene()) == [1, 2]
    server.join()


def test_a_proxy_is_gone_through() -> None:
    async def scene() -> None:
        answers = said(200, {"ok": 1}), said(200, {"goes": "on"}), said(404, {"code": 404, "reason": "ObjectNotFound"})
        async with serving(*answers) as server:
            access = Access("http://cluster.example", Fixed(), proxy=f"http://{server.address}")
            async with Api(access) as api:
                assert await api.get("/x", {"a": "b c"}) == {"ok": 1}
                async with api.stream("/y", {"watch": "true"}, silence_s=20) as pieces:
                    assert b"".join([piece async for piece in pieces]) == b'{"goes":"on"}'
                with pytest.raises(ObjectNotFound):
                    async with api.stream("/z"):
                        pass
            assert server.heads[0].startswith("GET http://cluster.example/x?a=b+c HTTP/1.1")
            assert server.heads[1].startswith("GET http://cluster.example/y?watch=true HTTP/1.1")

    asyncio.run(scene())
