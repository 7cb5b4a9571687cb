"""Connections of the API: bounded in number, in the size of headers, and in the time a client may take to send.

Uvicorn reads headers of any size and waits for ever for the rest of a request. Guarantees: a request whose headers are
too large is refused with 431 before more of it is read; one whose headers or body do not arrive in time is refused
with 408; connections beyond the limit are refused with 503. Each refusal is a problem document, and the connection is
closed. Left to others: the size of bodies (`body`), idle connections between two requests (uvicorn's keep-alive).
"""

import asyncio
import resource
import uuid
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from dovetail.api.protocol.problems import MEDIA_TYPE, REQUEST_ID, HttpProblem, answer_of
from dovetail.control.settings import RequestLimits
from dovetail.model.text.quantity import format_duration, show_bytes

FILES = 256  # that the server may need besides connections: the store, logs, the processes of commands


class BoundedHttp(HttpToolsProtocol):
    limits: ClassVar[RequestLimits] = RequestLimits()

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.url = b""
        self._in_headers = True
        self._unparsed_bytes = 0  # of headers that are not complete
        self._header_bytes = 0  # of complete headers
        self._refusal: HttpProblem | None = None
        self._timer: asyncio.TimerHandle | None = None

    # --- connections -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            words = f"{self.limits.max_connections} connections are open, the most this server keeps"
            self._refuse(HttpProblem(503, f"{words}; close some, or try again", headers={"Retry-After": "1"}))
        else:
            self._expect("headers", self.limits.header_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    # --- one request -----------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return  # what a refused client sends on is not read
        if self._in_headers:
            if self._timer is None:  # the next request on this connection
                self._expect("headers", self.limits.header_timeout)
            self._unparsed_bytes += len(data)
        super().data_received(data)
        if self._unparsed_bytes > self.limits.max_headers_size and not self.transport.is_closing():
            self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._check_headers(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._check_headers(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_headers, self._unparsed_bytes = False, 0
        self._expect("body", self.limits.body_timeout)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_headers = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal or HttpProblem(400, f"this is no request of HTTP/1.1: {msg}"))

    # --- inside ----------------------------------------------------------------------------------------------

    def _check_headers(self, size: int) -> None:
        """Raises to end the parser, which then calls `send_400_response`."""
        self._header_bytes += size
        if self._header_bytes > self.limits.max_headers_size or len(self.headers) > self.limits.max_headers:
            self._refusal = self._too_large()
            raise ValueError("the headers are too large")

    def _too_large(self) -> HttpProblem:
        most = f"{show_bytes(self.limits.max_headers_size)} in {self.limits.max_headers} headers"
        return HttpProblem(431, f"the headers are larger than {most}, the most this server reads: send fewer")

    def _expect(self, what: str, within_s: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(within_s, self._give_up, what, within_s)

    def _give_up(self, what: str, within_s: float) -> None:
        words = f"the {what} of the request did not arrive within {format_duration(within_s)}; send it again, faster"
        self._refuse(HttpProblem(408, words))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, problem: HttpProblem) -> None:
        """Answer, unless an answer has begun, and close the connection."""
        self._stop_timer()
        cycle = self.cycle
        if cycle is None or (cycle.response_complete if self._in_headers else not cycle.response_started):
            request_id = uuid.uuid4().hex
            answer = answer_of(problem, self.url.partition(b"?")[0].decode("latin-1"), request_id)
            lines = {**problem.headers, "content-type": MEDIA_TYPE, "content-length": str(len(answer.body))}
            lines |= {"connection": "close", REQUEST_ID: request_id}
            head = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode("latin-1")
            self.transport.write(STATUS_LINE[problem.status] + head + b"\r\n" + bytes(answer.body))
        self.transport.close()


def within_open_files(bounds: RequestLimits) -> RequestLimits:
    """The limits as this process can keep them: it may open as many files as its account allows, and some are no
    connections. A server that runs out of them would neither answer nor write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = bounds.max_connections + FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return bounds
    return bounds.model_copy(update={"max_connections": max(1, soft - FILES)})


def bounded_http(bounds: RequestLimits) -> type[BoundedHttp]:
    """The protocol of a server with these limits."""
    return type("BoundedHttp", (BoundedHttp,), {"limits": bounds})
