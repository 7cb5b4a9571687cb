"""Output that cannot be had is a problem with words and the right status, whatever its backend does."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, problem_in, serving, settings_in
from tests.unit.control.secretive import ENTRY, TOKEN, Secretive, offer

from dovetail.backends.contract import LogChunk
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.client import Client

FAR = {"allow": ["far"]}
WORK = {"name": "w", "resources": {"cpu": 1}, "backends": FAR}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    offer(monkeypatch)
    monkeypatch.delenv("DOVETAIL_SECRET_KEY", raising=False)
    with serving(settings_in(tmp_path, loop={"call_timeout": "200ms"})) as address:
        yield address


@pytest.fixture
def running(url: str) -> Iterator[Client]:
    with Client(url) as client:
        client.add_backend("far", ENTRY)
        client.submit(WORK)
        wait_for(lambda: client.workload("w")["state"] == "running")
        yield client


def asked(url: str, what: str = "w", **params: Any) -> httpx.Response:
    return httpx.get(f"{url}{API}/workloads/{what}/logs", auth=OWN_TOKEN, params=params, trust_env=False, timeout=30)


def answering(monkeypatch: pytest.MonkeyPatch, how: Callable[[str], Awaitable[LogChunk]]) -> None:
    async def logs(self: SimulatedBackend, key: str, offset: int, limit: int) -> LogChunk:
        return await how(key)

    monkeypatch.setattr(Secretive, "logs", logs, raising=False)


def failing(error: Exception) -> Callable[[str], Awaitable[LogChunk]]:
    async def fail(key: str) -> LogChunk:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "ConnectionRefusedError: [Errno 111] Connection refused"),
        (httpx.ConnectError("All attempts failed"), "ConnectError: All attempts failed"),
        (RuntimeError(f"401 for {TOKEN}"), "RuntimeError: 401 for •••"),
        (TypeError("no such field"), "TypeError: no such field"),
        (TimeoutError(), "no answer within"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_whatever_its_backend_raises_is_said_in_words(
    url: str, running: Client, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    answering(monkeypatch, failing(error))
    answer = asked(url)
    problem = problem_in(answer, 503)
    assert problem["detail"].startswith("backend far did not answer: ")
    assert words in problem["detail"]
    assert answer.headers["Retry-After"] == "1"
    assert TOKEN not in answer.text
    row = running.backend("far")
    assert (row["state"], row["errors"]) == ("closed", 1)


def test_a_backend_that_hangs_is_given_up_on(url: str, running: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(key: str) -> LogChunk:
        await asyncio.Event().wait()
        raise AssertionError

    answering(monkeypatch, hang)
    assert "no answer within" in problem_in(asked(url), 503)["detail"]


def test_what_is_not_there_is_not_found(url: str, running: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    problem_in(asked(url, "nobody"), 404)
    assert "has no replica 7" in problem_in(asked(url, replica=7), 404)["detail"]
    assert problem_in(asked(url, attempt=7), 404)["detail"] == "task 0 has no attempt 7; the latest is 1"
    answering(monkeypatch, failing(KeyError("1.0.1")))
    assert problem_in(asked(url), 404)["detail"] == "task 1.0 has no logs: they were removed or never written"
    running.submit({**WORK, "name": "waits", "resources": {"cpu": 1000}})
    wait_for(lambda: running.workload("waits")["reason"] != "")
    assert "has no logs yet: it is pending" in problem_in(asked(url, "waits"), 404)["detail"]


def test_of_a_backend_that_was_removed_there_is_no_output_any_more(url: str, running: Client) -> None:
    running.cancel("w")
    wait_for(lambda: running.workload("w")["state"] == "cancelled")
    assert asked(url).status_code == 200
    running.remove_backend("far")
    assert "backend far, which ran it, is not there" in problem_in(asked(url), 404)["detail"]


def test_a_backend_in_trouble_is_not_asked(url: str, running: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(self: SimulatedBackend) -> Any:
        raise ConnectionError("no route")

    answering(monkeypatch, failing(AssertionError("it was asked")))
    monkeypatch.setattr(Secretive, "nodes", away, raising=False)
    monkeypatch.setattr(Secretive, "fails", True)
    running.submit([{**WORK, "name": f"more-{i}"} for i in range(4)])
    wait_for(lambda: running.backend("far")["state"] == "open")
    problem = problem_in(asked(url), 503)
    assert problem["detail"].startswith("backend far cannot be asked now: ConnectionError: ")


def test_who_follows_output_hears_the_rest_when_its_backend_is_back(
    url: str, running: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[LogChunk | Exception] = [
        LogChunk("first\n", 6, ended=False),
        ConnectionError("no route"),
        ConnectionError("no route"),
        LogChunk("last\n", 11, ended=True),
    ]

    async def one(key: str) -> LogChunk:
        piece = pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return piece

    answering(monkeypatch, one)
    found = []
    for text in running.follow_logs("w"):
        found.append(text)
        if text == "last\n":
            running.cancel("w")  # its output has ended, and so does the task
    assert found == ["first\n", "last\n"]
    assert not pieces


def test_output_that_a_node_keeps_itself_is_not_looked_for_here(url: str) -> None:
    with Client(url) as client:
        client.register_node({"name": "agent", "capacity": {"cpu": 4}})
        client.submit({"name": "w", "resources": {"cpu": 1}, "backends": {"allow": ["registered"]}})
        wait_for(lambda: client.tasks("w")[0]["attempt"] > 0)
        assert "node agent has no agent that could be asked for it; look there" in problem_in(asked(url), 404)["detail"]
