"""Requests that would stop a server without limits: each is refused with a problem that says the limit and what to do,
and the server goes on."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, problem_in, serving, settings_in

from dovetail.client.transport.credentials import credentials_for

JSON = {"Content-Type": "application/json"}
LIMITS = {
    "max_body": "1MiB",
    "max_bodies": "2MiB",
    "max_headers_size": "8KiB",
    "max_connections": 20,
    "header_timeout": "2s",
    "body_timeout": "2s",
    "check_timeout": "5s",
    "max_batch": 300,
    "max_batch_replicas": 20_000,
    "max_tasks": 30_000,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"), limits=LIMITS)) as found:
        yield found


def address(url: str) -> tuple[str, int]:
    found = httpx.URL(url)
    assert found.port is not None
    return found.host, found.port


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    with socket.create_connection(address(url), timeout=30) as one:
        yield one


def posting(url: str) -> bytes:
    """The first headers of a submission."""
    token = credentials_for(url).token
    head = f"POST {API}/workloads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\n".encode()


def said_until_closed(one: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status and the problem that the server sent before it closed the connection."""
    said = b""
    while piece := one.recv(65536):
        said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return int(head.split()[1]), json.loads(body)


def test_headers_that_do_not_come_are_not_waited_for(url: str) -> None:
    with connected(url) as one:
        one.sendall(b"GET /api/v1/workloads HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        status, problem = said_until_closed(one)
    assert status == 408
    assert "the headers of the request did not arrive within 2s" in problem["detail"]


def test_a_connection_without_a_request_is_closed(url: str) -> None:
    with connected(url) as one:
        assert said_until_closed(one)[0] == 408


def test_a_body_that_does_not_come_is_not_waited_for(url: str) -> None:
    with connected(url) as one:
        one.sendall(posting(url) + b"Content-Length: 1000\r\n\r\n{")
        status, problem = said_until_closed(one)
    assert status == 408
    assert "the body of the request did not arrive within 2s" in problem["detail"]
    assert problem["instance"] == "/api/v1/workloads"


def test_a_header_that_is_too_large_is_refused_before_it_is_read(url: str) -> None:
    with connected(url) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * 9000)
        status, problem = said_until_closed(one)
    assert status == 431
    assert "larger than 8KiB in 100 headers" in problem["detail"]


@pytest.mark.parametrize("headers", [{"X-Large": "x" * 9000}, {f"X-{i}": "" for i in range(101)}])
def test_headers_that_are_too_large_or_too_many_are_refused(url: str, headers: dict[str, str]) -> None:
    problem = problem_in(httpx.get(f"{url}{API}/workloads", headers=headers, trust_env=False, verify=False), 431)
    assert problem["type"] == "urn:dovetail:problem:headers-too-large"


def test_an_address_that_is_too_long_is_refused(url: str) -> None:
    answer = httpx.get(f"{url}{API}/workloads?name={'x' * 9000}", trust_env=False, verify=False)
    assert answer.status_code == 431


def test_what_is_not_http_is_refused_with_a_problem(url: str) -> None:
    with connected(url) as one:
        one.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert said_until_closed(one)[0] == 400


def test_connections_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    limits = {"max_connections": 3, "header_timeout": "1h"}
    with serving(settings_in(tmp_path, limits=limits)) as url, connected(url), connected(url), connected(url):
        with connected(url) as fourth:
            status, problem = said_until_closed(fourth)
        assert status == 503
        assert "3 connections are open, the most this server keeps" in problem["detail"]


def test_bodies_in_flight_are_bounded_together(tmp_path: Path) -> None:
    """The last body has to come before the first is given up, also where that takes a while."""
    body = b" " * 2**20
    patient = LIMITS | {"header_timeout": "1h", "body_timeout": "5s"}
    with serving(settings_in(tmp_path, limits=patient)) as url:
        with connected(url) as one, connected(url) as two, connected(url) as three:
            for half_sent in (one, two, three):
                half_sent.sendall(posting(url) + b"Content-Length: 1048576\r\n\r\n" + body[:-1])
            answers = [said_until_closed(half_sent) for half_sent in (one, two, three)]
        assert sorted(status for status, _ in answers) == [408, 408, 503], answers
        assert "the server reads 2MiB of other requests already" in str(answers)
        with httpx.Client(auth=OWN_TOKEN, base_url=url + API, timeout=60, trust_env=False, verify=False) as http:
            given_back = http.post("/workloads", content=b"[]" + b" " * 2**19, headers=JSON)
        assert given_back.status_code == 422, given_back.text


def test_a_batch_is_bounded_in_workloads_and_in_replicas(http: httpx.Client) -> None:
    many = problem_in(http.post("/workloads", json=[{"name": f"w{i}"} for i in range(301)]), 422)
    assert "holds 301 workloads; the most at once is 300: split the submission" in many["detail"]
    large = problem_in(http.post("/workloads", json=[{"name": f"w{i}", "replicas": 7000} for i in range(3)]), 422)
    assert "21000 replicas at once; the most in one submission is 20000: split the submission" in large["detail"]


def test_tasks_that_wait_or_run_are_bounded_together(http: httpx.Client) -> None:
    never = {"resources": {"cpu": 7000}}
    batch = [{"name": f"crowd{i}", "replicas": 9000, **never} for i in range(2)]
    assert http.post("/workloads", json=batch).status_code == 201
    refused = problem_in(http.post("/workloads", json=[{**one, "name": f"{one['name']}x"} for one in batch]), 409)
    assert "than this server keeps, 30000: try again when some have ended" in refused["detail"]
    for one in batch:
        assert http.delete(f"/workloads/{one['name']}").status_code == 202
    again = http.post("/workloads", json=[{**one, "name": f"{one['name']}x"} for one in batch])
    assert again.status_code == 201, again.text


def test_a_body_that_takes_too_long_to_check_is_given_up(tmp_path: Path) -> None:
    many = [f"node.labels.a{i} != {i}" for i in range(120)]
    slow = [{"name": f"w{i}", "constraints": [{"require": f"{' && '.join(many)} && {i} > 1"}]} for i in range(200)]
    with (
        serving(settings_in(tmp_path, limits={"check_timeout": "1s"})) as url,
        httpx.Client(base_url=url + API, auth=OWN_TOKEN, timeout=60, trust_env=False, verify=False) as http,
    ):
        problem = problem_in(http.post("/workloads", json=slow), 422)
        assert "takes more than 1s to read and check; split it, or simplify it" in problem["detail"]
        fine = {"name": "fine", "run": {"command": ["x" * 5000]}}  # too large to be read by the server itself
        assert http.post("/workloads", json=fine).status_code == 201


def test_a_large_body_is_read_like_a_small_one(http: httpx.Client) -> None:
    run = {"command": ["x" * 5000]}
    accepted = http.post(
        "/workloads", json={"name": "large", "run": run, "constraints": [{"require": "node.load < 2"}]}
    )
    assert accepted.status_code == 201, accepted.text
    refused = problem_in(http.post("/workloads", json={"name": "bad", "run": run, "replicas": 0}), 422)
    assert "replicas" in refused["detail"]
    wrong = problem_in(
        http.post("/workloads", json={"name": "e", "run": run, "constraints": [{"require": "1 +"}]}), 422
    )
    assert wrong["errors"][0]["field"] == "constraints[0].require"
    assert "^" in wrong["errors"][0]["detail"]


def test_a_yaml_body_is_bounded_in_values(http: httpx.Client) -> None:
    many = b"name: w\nlabels: [" + b"a," * 250_000 + b"a]"
    answer = http.post("/workloads", content=many, headers={"Content-Type": "application/yaml"})
    assert "request body:2: holds more than 250000 values" in problem_in(answer, 422)["detail"]
