"""Proxies: tunnels to a server with TLS, and what a proxy is told."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.servers.certificates import Authority
from tests.unit.kubernetes_client.wire import said, serving

from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import Fixed
from dovetail.kubernetes_client.errors import ApiUnreachable
from dovetail.kubernetes_client.tunnel import Proxy


@asynccontextmanager
async def _proxy(heads: list[str], answer: bytes = b"HTTP/1.1 200 Go on\r\n\r\n") -> AsyncIterator[str]:
    """Opens tunnels to this machine, whatever host is asked for."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer)
        if b" 200 " not in answer:
            writer.close()
            return
        port = int(heads[-1].split(" ")[1].rpartition(":")[2])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, back), pump(there, writer), return_exceptions=True)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()


@asynccontextmanager
async def _secured(folder: Path, *answers: bytes) -> AsyncIterator[tuple[int, ssl.SSLContext]]:
    authority = Authority(folder)
    mine = authority.server("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(mine.certificate, mine.key)
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while left:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(left.pop(0))
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield listening.sockets[0].getsockname()[1], ssl.create_default_context(cafile=str(authority.certificate))
    finally:
        listening.close()


def test_a_server_with_tls_is_reached_through_a_tunnel_and_its_name_is_checked(tmp_path: Path) -> None:
    async def scene() -> None:
        heads: list[str] = []
        async with _secured(tmp_path, said(200, {"ok": 1}), said(200, {"ok": 2})) as (port, trust), _proxy(heads) as at:
            proxy = f"http://me:p%40ss@{at}"
            right = Access(f"https://cluster.example:{port}", Fixed(), trust, server_name="localhost", proxy=proxy)
            async with Api(right) as api:
                assert await api.get("/x") == {"ok": 1}
            wrong = Access(f"https://cluster.example:{port}", Fixed(), trust, proxy=proxy)
            async with Api(wrong) as api:
                with pytest.raises(ApiUnreachable, match=r"cluster\.example"):
                    await api.get("/x")
        assert heads[0].startswith(f"CONNECT cluster.example:{port} HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in heads[0]

    asyncio.run(scene())


def test_a_proxy_that_refuses_is_named_as_the_reason() -> None:
    async def scene() -> None:
        async with _proxy([], b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as at:
            access = Access("https://cluster.example", Fixed(), ssl.create_default_context(), proxy=f"http://{at}")
            async with Api(access) as api:
                with pytest.raises(ApiUnreachable, match=r"opens no tunnel: HTTP/1\.1 407"):
                    await api.get("/x")

    asyncio.run(scene())


def test_a_server_without_tls_is_asked_for_by_its_whole_address() -> None:
    async def scene() -> None:
        async with serving(said(200, {"ok": 1})) as server:
            access = Access("http://cluster.example/base", Fixed(), proxy=f"http://me:secret@{server.address}")
            async with Api(access) as api:
                assert await api.get("/x") == {"ok": 1}
            assert server.heads[0].startswith("GET http://cluster.example/base/x HTTP/1.1")
            assert "Proxy-Authorization: Basic" in server.heads[0]

    asyncio.run(scene())


@pytest.mark.parametrize("url", ["socks5://host:1080", "host:3128", "http://"])
def test_what_is_no_proxy_s_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not the address of a proxy"):
        Proxy(url)
