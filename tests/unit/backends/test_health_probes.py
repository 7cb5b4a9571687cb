"""Health checks against real listeners: well, unwell, silent, closed, and those that speak something else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from tests.servers.daemon import free_ports

from dovetail.backends.health_probes import probe
from dovetail.model.services.health import HealthCheck

HOST = "127.0.0.1"
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def check(**fields: Any) -> HealthCheck:
    return HealthCheck.model_validate({"timeout": "20s", **fields})


@asynccontextmanager
async def listening(answer: Answer, host: str = HOST) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def saying(text: bytes) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await writer.drain()

    return answer


def asked(answer: Answer, given: HealthCheck, host: str = HOST) -> str:
    """What a probe says about a listener that answers so."""

    async def ask() -> str:
        async with listening(answer, host) as port:
            return (await probe(given, host, port)).replace(str(port), "PORT")

    return asyncio.run(ask())


async def hang_up(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Says nothing."""


async def stay_silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


def response(status: str, body: bytes = b"ok") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


# --- TCP -----------------------------------------------------------------------------------------------------


def test_a_port_that_accepts_connections_is_well() -> None:
    assert asked(hang_up, check(tcp=80)) == ""


@pytest.mark.parametrize("way", [{"tcp": 80}, {"http": {"port": 80}}])
def test_a_port_on_which_nobody_listens_is_unwell(way: dict[str, Any]) -> None:
    port = free_ports(1)[0]
    assert f"port {port}: " in asyncio.run(probe(check(**way), HOST, port))


# --- HTTP ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "301 Moved", "399 Odd"])
def test_good_statuses_are_well(status: str) -> None:
    assert asked(saying(response(status, b"")), check(http={"path": "/healthz", "port": 80})) == ""


@pytest.mark.parametrize("status", ["400 Bad", "404 Not Found", "500 Broken", "503 Busy"])
def test_bad_statuses_are_unwell_and_named(status: str) -> None:
    found = asked(saying(response(status)), check(http={"path": "/healthz", "port": 80}))
    assert found == f"/healthz answers {status[:3]}"


def test_an_interim_answer_is_not_the_answer() -> None:
    text = b"HTTP/1.1 102 Processing\r\n\r\n" + response("503 Busy")
    assert asked(saying(text), check(http={"port": 80})) == "/ answers 503"


def test_an_endless_body_is_not_waited_for() -> None:
    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 1000)
            await writer.drain()

    assert asked(pour, check(http={"port": 80})) == ""


@pytest.mark.parametrize("text", [b"\x15\x03\x01\x00\x02P\r\n\r\n", b"SSH-2.0\r\n\r\n", b"HTTP/9 abc\r\n\r\n"])
def test_something_else_than_http_is_unwell(text: bytes) -> None:
    assert asked(saying(text), check(http={"port": 80})).startswith("port PORT does not speak HTTP")


def test_headers_without_end_are_unwell() -> None:
    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000)
        await writer.drain()

    assert asked(pour, check(http={"port": 80})).startswith("port PORT does not speak HTTP")


def test_a_connection_that_is_closed_without_an_answer_is_unwell() -> None:
    async def read_and_hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    assert asked(read_and_hang_up, check(http={"port": 80})) == "port PORT closed the connection without an answer"


@pytest.mark.parametrize("way", [{"http": {"port": 80}}, {"grpc": {"port": 80}}])
def test_one_that_says_nothing_is_unwell_after_the_timeout(way: dict[str, Any]) -> None:
    assert asked(stay_silent, check(**way, timeout="50ms")) == "no answer from port PORT within 0.05 s"


def test_a_request_has_the_path_and_the_host_that_were_asked_for() -> None:
    seen = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(response("200 OK"))
        await writer.drain()

    assert asked(note, check(http={"path": "/a?b=%20c", "port": 80, "host": "shop.example"})) == ""
    assert seen[0].startswith(b"GET /a?b=%20c HTTP/1.1\r\n")
    assert b"shop.example\r\n" in seen[0]


def test_an_address_of_ipv6_is_written_as_urls_have_it() -> None:
    seen = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(response("200 OK"))
        await writer.drain()

    try:
        assert asked(note, check(http={"port": 80}), "::1") == ""
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert b"[::1]:" in seen[0]


# --- gRPC ----------------------------------------------------------------------------------------------------


class Health(grpc.GenericRpcHandler):
    """The health service of gRPC, by the bytes of its messages: `cart` is what the test says, others are unknown."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def service(self, call: Any) -> Any:
        async def answered(question: bytes, context: Any) -> bytes:
            if question not in (b"", b"\x0a\x04cart", b"\x0a\x80\x01" + b"c" * 128):
                await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
            return self._answer

        assert call.method == "/grpc.health.v1.Health/Check"
        return grpc.unary_unary_rpc_method_handler(answered)


def asked_by_grpc(answer: bytes, **way: Any) -> str:
    async def ask() -> str:
        server = grpc.aio.server(handlers=[Health(answer)])
        port = server.add_insecure_port(f"{HOST}:0")
        await server.start()
        try:
            return await probe(check(grpc={"port": 80, **way}), HOST, port)
        finally:
            await server.stop(None)

    return asyncio.run(ask())


@pytest.mark.parametrize("service", ["", "cart", "c" * 128])
def test_a_grpc_server_that_serves_is_well(service: str) -> None:
    assert asked_by_grpc(b"\x08\x01", service=service) == ""


@pytest.mark.parametrize(
    ("answer", "word"), [(b"\x08\x02", "NOT_SERVING"), (b"", "UNKNOWN"), (b"\x08\x03", "SERVICE_UNKNOWN")]
)
def test_a_grpc_server_that_does_not_serve_says_so(answer: bytes, word: str) -> None:
    assert asked_by_grpc(answer) == f"gRPC health check: {word}"


def test_a_service_that_a_grpc_server_does_not_know_is_unwell() -> None:
    assert asked_by_grpc(b"\x08\x01", service="other") == "gRPC health check: NOT_FOUND"


def test_a_port_without_grpc_is_unwell() -> None:
    assert asyncio.run(probe(check(grpc={"port": 80}), HOST, free_ports(1)[0])) == "gRPC health check: UNAVAILABLE"
