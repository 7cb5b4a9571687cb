"""A small HTTP server for fakes that speak a cloud's REST API at the wire, in threads of the test, with faults.

What the faults do is the same for every cloud: no answer at all, slow answers, answers that get lost after the work was
done, and errors that a test prepares. What the API is stands in the modules that derive from it.
"""

import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.servers.certificates import Certificate


@dataclass(frozen=True)
class WireRequest:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes

    def json(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class WireReply:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class PreparedError:
    """Given instead of the real answer, so many times, to requests of this method whose path matches."""

    method: str
    path: str
    reply: WireReply
    times: int = 1


@dataclass
class Faults:
    """`away`: connections end without an answer. `slow_s`: before each answer. `lost`: so many answers to requests
    that change something get lost after the work was done. `list_lag_s`: lists show things only after this time."""

    away: bool = False
    slow_s: float = 0.0
    lost: int = 0
    list_lag_s: float = 0.0
    errors: list[PreparedError] = field(default_factory=list)

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        self.away = True
        try:
            yield
        finally:
            self.away = False


class WireServer:
    """Answers on the loopback while inside `with`; `asked` lists methods and paths. A certificate: over TLS."""

    def __init__(self, certificate: Certificate | None = None) -> None:
        self.faults = Faults()
        self.asked: list[tuple[str, str]] = []
        self.lock = threading.RLock()
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., WireReply]]] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.wire = self
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            self._server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._server.tls.load_cert_chain(certificate.certificate, certificate.key)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.05), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def route(self, method: str, path: str, answer: Callable[..., WireReply]) -> None:
        """`path`: a pattern; its named groups become arguments of `answer`, after the request."""
        self._routes.append((method, re.compile(path, re.IGNORECASE), answer))

    def not_found(self, request: WireRequest) -> WireReply:
        return WireReply(404, {"error": {"code": "NotFound", "message": f"{request.method} {request.path}"}})

    def answer(self, request: WireRequest) -> WireReply | None:
        """None: the connection ends without an answer."""
        if self.faults.away:
            return None
        if self.faults.slow_s:
            time.sleep(self.faults.slow_s)
        with self.lock:
            self.asked.append((request.method, request.path))
            prepared = self._prepared(request)
            if prepared is not None:
                return prepared
            reply = self._dispatch(request)
            if self.faults.lost and request.method in ("PUT", "POST", "DELETE") and "token" not in request.path:
                self.faults.lost -= 1
                return None
            return reply

    def _prepared(self, request: WireRequest) -> WireReply | None:
        for error in self.faults.errors:
            if error.times and error.method == request.method and re.search(error.path, request.path):
                error.times -= 1
                return error.reply
        return None

    def _dispatch(self, request: WireRequest) -> WireReply:
        for method, pattern, answer in self._routes:
            found = pattern.fullmatch(request.path)
            if found is not None and method == request.method:
                return answer(request, **found.groupdict())
        return self.not_found(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    wire: WireServer
    tls: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the connection, so that a slow handshake holds nobody else up."""
        if self.tls is not None:
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError:
                return
        super().finish_request(request, client_address)
        if self.tls is not None:
            request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that go away are no news


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.wire.answer(WireRequest(self.command, parts.path, query, headers, raw))
        if reply is None:
            self.close_connection = True
            return
        plain = isinstance(reply.body, bytes)
        body = reply.body if plain else b"" if reply.body is None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "text/plain" if plain else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _answer  # noqa: N815 (names of the base class)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as in the base class)
        pass
