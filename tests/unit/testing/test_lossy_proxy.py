"""The misbehaving network does what it is asked to, over TCP, unix sockets and TLS, to a real HTTP server behind it."""

import asyncio
import socketserver
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.servers.certificates import Authority
from tests.servers.daemon import skip_without

from dovetail.testing.lossy_proxy import LossyProxy

Play = Callable[[httpx.AsyncClient], Awaitable[None]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: list[str] = []
    was_asked = threading.Event()
    was_left = threading.Event()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.was_asked.set()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass
        finally:
            self.was_left.set()

    def log_message(self, *_: Any) -> None:
        pass

    def address_string(self) -> str:
        return "somebody"


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True


@pytest.fixture(params=["tcp", "unix", "tls"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LossyProxy]:
    """Before it is entered."""
    Handler.asked = []
    Handler.was_asked.clear()
    Handler.was_left.clear()
    path = str(tmp_path / "s")
    server = UnixServer(path, Handler) if request.param == "unix" else TcpServer(("127.0.0.1", 0), Handler)
    upstream = path if request.param == "unix" else f"127.0.0.1:{server.socket.getsockname()[1]}"
    trust = _with_certificate(server, tmp_path) if request.param == "tls" else None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield LossyProxy(upstream, tls=trust)
    server.shutdown()
    thread.join()
    server.server_close()


def _with_certificate(server: socketserver.TCPServer, folder: Path) -> ssl.SSLContext:
    """Lets the server speak TLS; what its clients trust."""
    skip_without("openssl")
    authority = Authority(folder / "authority")
    own = authority.server("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own.certificate, own.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return ssl.create_default_context(cafile=str(authority.certificate))


def play(proxy: LossyProxy, scene: Play) -> None:
    async def run() -> None:
        unix = "/" in proxy.address
        transport = httpx.AsyncHTTPTransport(uds=proxy.address if unix else None)
        base = "http://host" if unix else f"http://{proxy.address}"
        async with httpx.AsyncClient(transport=transport, base_url=base, timeout=20) as client:
            await scene(client)

    with proxy:
        asyncio.run(run())


def test_left_alone_it_hands_everything_on(proxy: LossyProxy) -> None:
    async def scene(client: httpx.AsyncClient) -> None:
        for number in range(5):
            assert (await client.get(f"/{number}")).text == "ok"
        assert Handler.asked == [f"/{number}" for number in range(5)]

    play(proxy, scene)


def test_while_replies_are_cut_what_is_asked_is_done_and_not_answered(proxy: LossyProxy) -> None:
    async def scene(client: httpx.AsyncClient) -> None:
        await client.get("/before")  # leaves a connection open, which is cut like a new one
        async with proxy.cut_replies():
            with pytest.raises(httpx.TransportError):
                await client.get("/lost")
        assert (await client.get("/after")).text == "ok"
        assert Handler.asked == ["/before", "/lost", "/after"]

    play(proxy, scene)


def test_while_calls_are_broken_nothing_arrives(proxy: LossyProxy) -> None:
    async def scene(client: httpx.AsyncClient) -> None:
        await client.get("/before")
        async with proxy.break_calls():
            for _ in range(3):
                with pytest.raises(httpx.TransportError):
                    await client.get("/broken")
        assert (await client.get("/after")).text == "ok"
        assert Handler.asked == ["/before", "/after"]

    play(proxy, scene)


def test_a_held_reply_keeps_nobody_else_waiting_and_comes_in_the_end(proxy: LossyProxy) -> None:
    async def scene(client: httpx.AsyncClient) -> None:
        async with proxy.hold_reply("7.0.1"):
            waiting = asyncio.create_task(client.get("/attempts/7.0.1"))
            assert await asyncio.to_thread(Handler.was_asked.wait, 20)
            assert (await client.get("/attempts/8.0.1")).text == "ok"
            assert not waiting.done()
        assert (await waiting).text == "ok"

    play(proxy, scene)


def test_what_the_client_ends_the_server_is_told_to_end(proxy: LossyProxy) -> None:
    async def scene(client: httpx.AsyncClient) -> None:
        assert (await client.get("/kept")).text == "ok"
        await client.aclose()
        assert await asyncio.to_thread(Handler.was_left.wait, 20)

    play(proxy, scene)


def test_a_unix_socket_is_not_spoken_to_in_tls(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unix socket: leave tls out"):
        LossyProxy(str(tmp_path / "s"), tls=ssl.create_default_context())
