"""HTTP as the client speaks it: connections that are kept, answers in pieces, TLS, proxies, and what can go wrong."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from enum import Enum
from pathlib import Path
from uuid import UUID

import pytest
from tests.servers.certificates import Authority

from dovetail.client.errors import BadAnswer, ConnectError, DovetailError, NoAnswer
from dovetail.client.transport.transport import Transport

GOOD = b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"ok"'
Serve = Callable[[socket.socket], None]


@contextmanager
def listening(*serves: Serve) -> Iterator[int]:
    """The port of a server that handles one connection after the other, each in its own way."""
    server = socket.create_server(("127.0.0.1", 0))

    def work() -> None:
        for serve in serves:
            try:
                connection, _ = server.accept()
            except OSError:  # closed: the test needs no more
                return
            with connection:
                serve(connection)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield int(server.getsockname()[1])
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(timeout=10)


def request(connection: socket.socket) -> str:
    """One request with its body."""
    found = b""
    while b"\r\n\r\n" not in found:
        piece = connection.recv(65536)
        if not piece:
            return found.decode()
        found += piece
    head, _, body = found.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return f"{head.decode()}\n\n{body.decode()}"


def answering(*answers: bytes, heard: list[str] | None = None) -> Serve:
    def serve(connection: socket.socket) -> None:
        for answer in answers:
            said = request(connection)
            if heard is not None:
                heard.append(said)
            connection.sendall(answer)

    return serve


@contextmanager
def transport(port: int, timeout_s: float = 10.0) -> Iterator[Transport]:
    found = Transport(f"http://127.0.0.1:{port}/", None, timeout_s)
    try:
        yield found
    finally:
        found.close()


def test_one_connection_serves_several_requests() -> None:
    heard: list[str] = []
    with listening(answering(GOOD, GOOD, heard=heard)) as port, transport(port) as http:
        assert http.json("GET", "/a", params={"all": True, "of": ["x y", "ä"], "none": None}) == "ok"
        assert http.json("POST", "/b", json={"n": 1}) == "ok"
    assert heard[0].startswith("GET /a?all=true&of=x+y&of=%C3%A4 HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{port}" in heard[0]
    assert heard[1].endswith('\n\n{"n": 1}')


def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    with listening(answering(GOOD), answering(GOOD)) as port, transport(port) as http:
        assert http.json("POST", "/once") == "ok"
        closed = http._exchange._kept[0]
        closed.settimeout(10)
        assert closed.recv(1, socket.MSG_PEEK) == b""  # the end has arrived
        assert http.json("POST", "/twice") == "ok"


def test_an_answer_may_come_in_pieces_and_after_an_interim_one() -> None:
    interim = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = interim + head + b'2\r\n"o\r\n2\r\nk"\r\n0\r\n\r\n'

    def slowly(connection: socket.socket) -> None:
        request(connection)
        for place in range(len(pieces)):
            connection.sendall(pieces[place : place + 1])

    with listening(slowly) as port, transport(port) as http:
        answer = http.ask("GET", "/")
        assert (answer.text, "link" in answer.headers) == ('"ok"', False)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    with listening(answering(b'HTTP/1.0 200 OK\r\n\r\n"ok"')) as port, transport(port) as http:
        assert http.json("GET", "/") == "ok"


def test_an_answer_that_breaks_off_is_an_error_and_asked_for_again_where_that_does_no_harm() -> None:
    broken = b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nbut"
    with listening(answering(broken), answering(GOOD), answering(broken)) as port, transport(port) as http:
        assert http.json("GET", "/") == "ok"
        http.close()
        with pytest.raises(ConnectError, match="closed the connection"):
            http.json("POST", "/")


def test_what_is_not_http_is_named_so() -> None:
    not_http = pytest.raises(ConnectError, match="not HTTP")
    with listening(answering(b"SSH-2.0-OpenSSH\r\n")) as port, transport(port) as http, not_http:
        http.json("POST", "/")


def test_silence_ends_in_an_error_and_is_not_asked_again() -> None:
    def silent(connection: socket.socket) -> None:
        while connection.recv(65536):
            pass

    late = pytest.raises(NoAnswer, match=r"did not answer within 0\.2 s")
    with listening(silent) as port, transport(port, 0.2) as http, late:
        http.json("GET", "/")


def test_a_problem_and_a_page_of_something_else_are_told_apart() -> None:
    problem = b'{"status": 409, "detail": "no"}'
    refused = b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n%s" % (len(problem), problem)
    page = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\n<html"
    with listening(answering(refused, page)) as port, transport(port) as http:
        with pytest.raises(DovetailError, match="no"):
            http.json("GET", "/")
        with pytest.raises(BadAnswer, match="502 Bad Gateway"):
            http.json("GET", "/")


def test_a_stream_gives_lines_as_they_come_while_others_ask() -> None:
    go_on = threading.Event()

    def stream(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\none\r\ntwo\r\n")
        go_on.wait(10)
        connection.sendall(b"3\r\n\xe2\x82\xac\r\n0\r\n\r\n")

    both: list[Serve] = [lambda connection: threads.append(_in_background(stream, connection)), answering(GOOD)]
    threads: list[threading.Thread] = []
    with listening(*both) as port, transport(port) as http, http.stream("/events", {}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "one"
        assert http.json("GET", "/meanwhile") == "ok"
        go_on.set()
        assert list(lines) == ["two€"]
    threads[0].join(timeout=10)


def _in_background(serve: Serve, connection: socket.socket) -> threading.Thread:
    own = connection.dup()

    def work() -> None:
        with own:
            serve(own)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_stream_that_breaks_off_is_an_error() -> None:
    begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
    broken = pytest.raises(ConnectError, match="closed the connection")
    with listening(answering(begun)) as port, transport(port) as http, broken, http.stream("/events", {}) as answer:
        list(answer.iter_text())


def test_an_error_of_the_reader_of_a_stream_stays_what_it_is() -> None:
    broken = pytest.raises(BrokenPipeError)
    with listening(answering(GOOD)) as port, transport(port) as http, broken, http.stream("/events", {}):
        raise BrokenPipeError


def test_a_header_cannot_carry_another_header() -> None:
    refused = pytest.raises(ValueError, match="the header Idempotency-Key cannot carry")
    with listening(answering(GOOD)) as port, transport(port) as http, refused:
        http.ask("POST", "/", headers={"Idempotency-Key": "a\r\nX-Other: b"})


def test_times_identifiers_and_members_of_enumerations_are_written_as_text() -> None:
    class Colour(Enum):
        RED = "red"

    heard: list[str] = []
    with listening(answering(GOOD, heard=heard)) as port, transport(port) as http:
        http.json("POST", "/", json=[date(2026, 1, 2), UUID(int=1), Colour.RED])
        with pytest.raises(TypeError, match="cannot carry a set"):
            http.json("POST", "/", json={1})
    assert heard[0].endswith('["2026-01-02", "00000000-0000-0000-0000-000000000001", "red"]')


# --- TLS and proxies ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def secured(authority: Authority, *answers: bytes) -> Serve:
    mine = authority.server("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(mine.certificate, mine.key)

    def serve(connection: socket.socket) -> None:
        try:
            with context.wrap_socket(connection.dup(), server_side=True) as safe:
                answering(*answers)(safe)
        except ssl.SSLError:  # the client trusts somebody else
            return

    return serve


def test_a_server_with_tls_is_checked_against_the_authorities_of_the_environment(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve = secured(authority, GOOD, GOOD)
    with listening(serve, serve) as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path / "another").certificate))
        with pytest.raises(ConnectError, match="its certificate is not trusted"):
            Transport(f"https://127.0.0.1:{port}", None, 10).json("POST", "/")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
        http = Transport(f"https://127.0.0.1:{port}", "secret", 10)
        assert [http.json("GET", "/"), http.json("GET", "/")] == ["ok", "ok"]
        http.close()


def tunnelling(heard: list[str], answer: bytes = b"HTTP/1.1 200 Go on\r\n\r\n") -> Serve:
    """Opens a tunnel to this machine, whatever host is asked for."""

    def serve(connection: socket.socket) -> None:
        heard.append(request(connection))
        connection.sendall(answer)
        if b" 200 " not in answer:
            return
        port = int(heard[-1].split(" ")[1].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as there:
            back = threading.Thread(target=_pump, args=(there, connection), daemon=True)
            back.start()
            _pump(connection, there)
            back.join(timeout=10)

    return serve


def _pump(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def test_a_server_with_tls_is_reached_through_a_tunnel(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    with listening(secured(authority, GOOD)) as port, listening(tunnelling(heard)) as proxy:
        monkeypatch.setenv("https_proxy", f"http://ada:p%40ss@127.0.0.1:{proxy}")
        http = Transport(f"https://kubernetes.default.svc:{port}", None, 10)
        assert http.json("GET", "/") == "ok"
        http.close()
    assert heard[0].startswith(f"CONNECT kubernetes.default.svc:{port} HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic YWRhOnBAc3M=" in heard[0]


def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(tunnelling([], b"HTTP/1.1 407 Who are you\r\n\r\n")) as proxy:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{proxy}")
        http = Transport("https://dovetail.example", None, 10)
        with pytest.raises(ConnectError, match=r"opens no tunnel: HTTP/1\.1 407 Who are you"):
            http.json("POST", "/")


def test_a_server_without_tls_is_asked_for_by_its_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    with listening(answering(GOOD, heard=heard)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy}")
        assert Transport("http://dovetail.example:81/below", None, 10).json("GET", "/a") == "ok"
    assert heard[0].startswith("GET http://dovetail.example:81/below/a HTTP/1.1\r\nAccept")
    assert "Host: dovetail.example:81" in heard[0]


def test_no_proxy_stands_between_this_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with listening(answering(GOOD)) as port, transport(port) as http:
        assert http.json("GET", "/") == "ok"
    monkeypatch.setenv("no_proxy", "dovetail.example")
    assert Transport("http://dovetail.example", None, 1)._exchange._connector._proxy is None


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "http://"])
def test_a_proxy_that_cannot_be_used_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ValueError, match="not the address of a proxy"):
        Transport("http://dovetail.example", None, 1)


def test_user_and_password_of_the_address_are_sent() -> None:
    heard: list[str] = []
    with listening(answering(GOOD, heard=heard)) as port:
        assert Transport(f"http://ada:p%40ss@127.0.0.1:{port}", None, 10).json("GET", "/") == "ok"
    assert "Authorization: Basic YWRhOnBAc3M=" in heard[0]
    assert "ada" not in heard[0].replace("YWRhOnBAc3M=", "")
