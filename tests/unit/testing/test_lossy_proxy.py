"""The misbehaving network does what it is asked to, over TCP and over unix sockets, to a real HTTP server behind it."""

import asyncio
import socketserver
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail.testing.lossy_proxy import LossyProxy

Play = Callable[[LossyProxy, httpx.AsyncClient], Awaitable[None]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: list[str] = []
    was_asked = threading.Event()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.was_asked.set()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass

    def address_string(self) -> str:
        return "somebody"


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True


@pytest.fixture(params=["tcp", "unix"])
def upstream(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    Handler.asked = []
    Handler.was_asked.clear()
    path = str(tmp_path / "s")
    server = UnixServer(path, Handler) if request.param == "unix" else TcpServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield path if request.param == "unix" else f"127.0.0.1:{server.socket.getsockname()[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def play(upstream: str, scene: Play) -> None:
    async def run(proxy: LossyProxy) -> None:
        unix = "/" in proxy.address
        transport = httpx.AsyncHTTPTransport(uds=proxy.address if unix else None)
        base = "http://host" if unix else f"http://{proxy.address}"
        async with httpx.AsyncClient(transport=transport, base_url=base, timeout=20) as client:
            await scene(proxy, client)

    with LossyProxy(upstream) as proxy:
        asyncio.run(run(proxy))


def test_left_alone_it_hands_everything_on(upstream: str) -> None:
    async def scene(proxy: LossyProxy, client: httpx.AsyncClient) -> None:
        for number in range(5):
            assert (await client.get(f"/{number}")).text == "ok"
        assert Handler.asked == [f"/{number}" for number in range(5)]

    play(upstream, scene)


def test_while_replies_are_cut_what_is_asked_is_done_and_not_answered(upstream: str) -> None:
    async def scene(proxy: LossyProxy, client: httpx.AsyncClient) -> None:
        await client.get("/before")  # leaves a connection open, which is cut like a new one
        async with proxy.cut_replies():
            with pytest.raises(httpx.TransportError):
                await client.get("/lost")
        assert (await client.get("/after")).text == "ok"
        assert Handler.asked == ["/before", "/lost", "/after"]

    play(upstream, scene)


def test_while_calls_are_broken_nothing_arrives(upstream: str) -> None:
    async def scene(proxy: LossyProxy, client: httpx.AsyncClient) -> None:
        await client.get("/before")
        async with proxy.break_calls():
            for _ in range(3):
                with pytest.raises(httpx.TransportError):
                    await client.get("/broken")
        assert (await client.get("/after")).text == "ok"
        assert Handler.asked == ["/before", "/after"]

    play(upstream, scene)


def test_a_held_reply_keeps_nobody_else_waiting_and_comes_in_the_end(upstream: str) -> None:
    async def scene(proxy: LossyProxy, client: httpx.AsyncClient) -> None:
        async with proxy.hold_reply("7.0.1"):
            waiting = asyncio.create_task(client.get("/attempts/7.0.1"))
            assert await asyncio.to_thread(Handler.was_asked.wait, 20)
            assert (await client.get("/attempts/8.0.1")).text == "ok"
            assert not waiting.done()
        assert (await waiting).text == "ok"

    play(upstream, scene)
