"""Asks a replica of a service whether it is well: TCP, HTTP, gRPC. Commands are the business of its backend.

Guarantees: an answer within the timeout of the check, whatever the other side does; the answer is what is wrong, in a
few words, and empty if nothing is.
"""

import asyncio
import contextlib

import h11

from dovetail.model.services.health import GrpcCheck, HealthCheck, HttpCheck

_BYTES_AT_ONCE = 65536
_FIRST_BAD_STATUS = 400


async def probe(check: HealthCheck, host: str, port: int) -> str:
    """What is wrong with whoever listens there; empty if nothing is."""
    try:
        async with asyncio.timeout(check.timeout):
            if check.http is not None:
                return await _http(check.http, host, port)
            if check.grpc is not None:
                return await _grpc(check.grpc, host, port)
            return await _tcp(host, port)
    except TimeoutError:
        return f"no answer from port {port} within {check.timeout:g} s"
    except OSError as error:
        return f"port {port}: {error.strerror or error}"


async def _tcp(host: str, port: int) -> str:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return ""


async def _http(check: HttpCheck, host: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        protocol = h11.Connection(h11.CLIENT)
        name = check.host or (f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        headers = [("Host", name), ("User-Agent", "dovetail-health"), ("Connection", "close")]
        asked = protocol.send(h11.Request(method="GET", target=check.path, headers=headers))
        writer.write((asked or b"") + (protocol.send(h11.EndOfMessage()) or b""))
        while True:
            event = protocol.next_event()
            if event is h11.NEED_DATA:
                if not (data := await reader.read(_BYTES_AT_ONCE)):
                    return f"port {port} closed the connection without an answer"
                protocol.receive_data(data)
            elif isinstance(event, h11.Response):
                return "" if event.status_code < _FIRST_BAD_STATUS else f"{check.path} answers {event.status_code}"
    except h11.RemoteProtocolError as error:
        return f"port {port} does not speak HTTP: {error}"
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


_NOT_SERVING = {0: "UNKNOWN", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_SERVING = 1


async def _grpc(check: GrpcCheck, host: str, port: int) -> str:
    try:
        import grpc  # an extra, which is large
    except ImportError:
        return "this server cannot ask gRPC services: pip install 'dovetail-scheduler[grpc]'"
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    named = check.service.encode()
    question = b"" if not named else b"\x0a" + _varint(len(named)) + named  # HealthCheckRequest.service
    async with grpc.aio.insecure_channel(address) as channel:
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            answer = await ask(question)
        except grpc.aio.AioRpcError as error:
            return f"gRPC health check: {error.code().name}"
    status = answer[1] if len(answer) > 1 and answer[0] == 0x08 else 0  # HealthCheckResponse.status
    return "" if status == _SERVING else f"gRPC health check: {_NOT_SERVING.get(status, status)}"


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
