"""HTTP/1.1 for one server: requests and answers over connections that are kept for the next request.

Guarantees: several threads may ask at once, and while an answer is streamed; each exchange has a connection of its own.
A connection that the server has closed meanwhile is not used again. An answer that breaks off is an error. Addresses,
TLS and proxies are left to `connector`, retries and the meaning of answers to `transport`.

It stands on a socket and httptools, because importing an HTTP library takes longer than most commands
(`docs/decisions/0009-start-of-commands.md`).
"""

import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import httptools

from dovetail.client.transport.connector import Connector

_RECEIVED_BYTES = 2**18
_KEPT = 10  # connections without a request


class Unreachable(Exception):
    """No connection could be made."""


class AnswerLost(Exception):
    """No whole answer came."""


class AnswerLate(Exception):
    """The server was silent for too long."""


class HttpRequest(NamedTuple):
    """`target`: path and query, encoded. `streams`: the answer goes on for as long as it likes."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    streams: bool = False


class ServerAnswer:
    """The head of an answer, and its body as it arrives. Header names are in lower case."""

    def __init__(self, connection: socket.socket) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.reusable = False  # the connection may carry another exchange
        self._connection = connection
        self._parser: Any = httptools.HttpResponseParser(self)
        self._reason = b""
        self._pieces: list[bytes] = []
        self._whole: bytes | None = None
        self._ended = False

    # --- httptools' side -----------------------------------------------------------------------------------------

    def on_status(self, reason: bytes) -> None:
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
        else:  # an interim answer: the real one follows
            self.headers, self._reason = {}, b""

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self.status:
            self._ended, self.reusable = True, self._parser.should_keep_alive()

    # --- ours ----------------------------------------------------------------------------------------------------

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def reason(self) -> str:
        return self._reason.decode("latin-1")

    @property
    def content(self) -> bytes:
        """The whole body."""
        return self.receive_body()

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def receive_head(self) -> None:
        """Raises AnswerLost and AnswerLate."""
        while not self.status:
            self._receive()

    def receive_body(self) -> bytes:
        """Raises AnswerLost and AnswerLate."""
        if self._whole is None:
            self._whole = b"".join(self.pieces())
        return self._whole

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes. Raises AnswerLost and AnswerLate."""
        while True:
            found, self._pieces = self._pieces, []
            yield from found
            if self._ended and not self._pieces:
                return
            if not self._pieces:
                self._receive()

    def iter_text(self) -> Iterator[str]:
        from codecs import getincrementaldecoder

        decoder = getincrementaldecoder("utf-8")("replace")
        for piece in self.pieces():
            if text := decoder.decode(piece):
                yield text
        if rest := decoder.decode(b"", final=True):
            yield rest

    def iter_lines(self) -> Iterator[str]:
        """Without their ends."""
        rest = ""
        for text in self.iter_text():
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                yield line.removesuffix("\r")
        if rest:
            yield rest

    def _receive(self) -> None:
        with _named_errors():
            data = self._connection.recv(_RECEIVED_BYTES)
        if not data:
            measured = "content-length" in self.headers or "transfer-encoding" in self.headers
            if not self.status or measured:
                raise AnswerLost("the server closed the connection before its answer was complete")
            self._ended = True  # an answer without a length ends with the connection
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise AnswerLost(f"what came is not HTTP: {error}") from None


class BlockingExchange:
    """Sends requests to one server."""

    def __init__(self, connector: Connector, timeout_s: float) -> None:
        self._connector = connector
        self._timeout_s = timeout_s
        self._kept: list[socket.socket] = []  # taking from and adding to a list is safe in several threads

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()

    def connect(self) -> socket.socket:
        """A connection for one exchange, kept or new. Raises Unreachable."""
        while self._kept:
            found = self._kept.pop()
            if not _is_readable(found):
                return found
            found.close()  # by the server; or it sends something that nobody asked for
        try:
            return self._connector.open()
        except OSError as error:
            raise Unreachable(in_words(error)) from error

    def send(self, connection: socket.socket, request: HttpRequest) -> ServerAnswer:
        """The head of the answer; give the connection back with `finish`. Raises AnswerLost and AnswerLate."""
        connection.settimeout(self._timeout_s)
        with _named_errors():
            connection.sendall(self._written(request))
        if request.streams:
            connection.settimeout(None)
        answer = ServerAnswer(connection)
        answer.receive_head()
        return answer

    def finish(self, connection: socket.socket, answer: ServerAnswer | None) -> None:
        """Keep the connection if its exchange is complete, else close it."""
        if answer is not None and answer.reusable and len(self._kept) < _KEPT:
            self._kept.append(connection)
        else:
            connection.close()

    def _written(self, request: HttpRequest) -> bytes:
        headers = {**request.headers, **self._connector.headers}
        if request.body or request.method not in ("GET", "DELETE"):
            headers["Content-Length"] = str(len(request.body))
        lines = [f"{request.method} {self._connector.prefix}{request.target} HTTP/1.1"]
        lines += [f"{name}: {_checked(name, value)}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


def in_words(error: OSError) -> str:
    """What went wrong, without the numbers and names that only a library knows."""
    if getattr(error, "reason", None) == "WRONG_VERSION_NUMBER":
        return "it does not speak TLS there: write http:// instead of https://"
    untrusted = getattr(error, "verify_message", "")
    if untrusted:
        return f"its certificate is not trusted: {untrusted}; SSL_CERT_FILE names a file with one that is"
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


@contextmanager
def _named_errors() -> Iterator[None]:
    """What can happen to a connection, apart from errors of whoever reads the answer meanwhile."""
    try:
        yield
    except TimeoutError as error:
        raise AnswerLate(str(error)) from error
    except OSError as error:
        raise AnswerLost(in_words(error)) from error


def _checked(name: str, value: str) -> str:
    if not value.isprintable() or any(ord(letter) > 255 for letter in value):
        raise ValueError(f"the header {name} cannot carry {value!r}; use plain letters, digits and signs")
    return value


def _is_readable(connection: socket.socket) -> bool:
    """Without waiting. Not by `select.select` where it can be helped: that fails from the 1,024th open file on."""
    poll: Callable[[], Any] | None = getattr(select, "poll", None)
    if poll is None:
        return bool(select.select([connection], [], [], 0)[0])
    watched = poll()
    watched.register(connection, select.POLLIN)
    return bool(watched.poll(0))
