"""Servers that are busy are obeyed, those that do not believe us are asked once more, and proxies are gone through."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.kubernetes.client.wire import said, serving

from dovetail.kubernetes.client.access import Access
from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.credentials import Fixed, TokenFile
from dovetail.kubernetes.client.errors import NotFound, Throttled, Unauthorized

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
        answers = [said(429, BUSY), said(429, BUSY, "Retry-After: 0")]
        async with serving(*answers) as server, Api(Access(f"http://{server.address}", Fixed())) as api:
            with pytest.raises(Throttled, match="too many requests"):
                await api.get("/x")
            with pytest.raises(Throttled):
                await api.send("POST", "/x", obey=False)
            assert len(server.heads) == 2

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


def test_a_proxy_is_gone_through() -> None:
    async def scene() -> None:
        answers = said(200, {"ok": 1}), said(200, {"goes": "on"}), said(404, {"code": 404, "reason": "NotFound"})
        async with serving(*answers) as server:
            access = Access("http://cluster.example", Fixed(), proxy=f"http://{server.address}")
            async with Api(access) as api:
                assert await api.get("/x", {"a": "b c"}) == {"ok": 1}
                async with api.stream("/y", {"watch": "true"}, silence_s=20) as pieces:
                    assert b"".join([piece async for piece in pieces]) == b'{"goes":"on"}'
                with pytest.raises(NotFound):
                    async with api.stream("/z"):
                        pass
            assert server.heads[0].startswith("GET http://cluster.example/x?a=b+c HTTP/1.1")
            assert server.heads[1].startswith("GET http://cluster.example/y?watch=true HTTP/1.1")

    asyncio.run(scene())
