"""`dovetail mcp`, asked by the SDK's own client: every tool, over stdio and over HTTP, on a live server."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_cli import DOVETAIL, clean
from tests.patience import wait_for
from tests.servers.daemon import free_ports

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("mcp"), pytest.mark.usefixtures("mcp")]

T = TypeVar("T")
SETTINGS = {
    "logging": {"level": "error"},
    "backends": {
        "sim": {
            "kind": "simulated",
            "forever": True,
            "groups": [
                {"prefix": "node", "count": 4, "capacity": {"cpu": 8, "memory": "32GB"}, "labels": {"zone": "east"}}
            ],
        }
    },
}
PLANNED = "name: planned\nreplicas: 2\nresources: {cpu: 1}\n"
#: Arguments for each tool, and words that the answer has to hold.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "cluster": ({}, '"total":4'),
    "explain": ({"workload": "greedy"}, "cpu short by 91"),
    "why_not": ({"workload": "greedy", "node": "node-1"}, "node-1"),
    "plan": ({"definition": PLANNED}, '"placed":2'),
    "queue": ({"limit": 5}, "greedy"),
    "queues": ({}, "default"),
    "capacity": ({"cpu": 2, "memory": "1GiB"}, '"nodes_that_fit":4'),
    "workloads": ({"state": "running"}, "alpha"),
    "nodes": ({"label": "zone=east", "limit": 2}, '"total":4'),
    "events": ({"workload": "alpha", "minutes": 60}, "placed"),
}
#: What is wrong, and words of the error.
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("explain", {"workload": "nobody"}, "nobody"),
    ("explain", {}, "workload"),
    ("why_not", {"workload": "alpha", "node": "no-such-node"}, "no-such-node"),
    ("plan", {"definition": "name: x\nresources: {cpu: lots}\n"}, "resources.cpu"),
    ("plan", {"definition": "nonsense: true"}, "nonsense"),
    ("capacity", {}, "at least one of cpu, memory, gpu and disk"),
    ("queue", {"limit": 100000}, "200"),
    ("workloads", {"state": "asleep"}, "asleep"),
    ("nodes", {"limit": "many"}, "limit"),
]


@pytest.fixture(scope="module")
def mcp() -> Any:
    """Imported by the worker that runs these tests, not by all that collect them."""
    return pytest.importorskip("mcp", reason="needs the package mcp (pip install mcp)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("mcp"), SETTINGS) as found:
        with Client(found.url) as client:
            client.submit({"name": "alpha", "replicas": 3, "resources": {"cpu": 1}})
            client.submit({"name": "greedy", "resources": {"cpu": 99}})
            wait_for(lambda: client.workload("alpha")["state"] == "running" and client.workload("greedy")["reason"])
        yield found


def over_stdio(url: str, use: Callable[[Any], Awaitable[T]]) -> T:
    import mcp

    async def talk() -> T:
        given = mcp.StdioServerParameters(command=sys.executable, args=["-m", "dovetail", "mcp"], env=clean(url))
        async with mcp.Client(given) as client:
            return await use(client)

    return asyncio.run(asyncio.wait_for(talk(), 120))


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def stored(server: ServerProcess) -> list[str]:
    """Everything in its database, as text."""
    [database] = server.data.glob("*.db")
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def test_every_tool_answers_and_none_changes_anything(server: ServerProcess) -> None:
    before = stored(server)

    async def use(client: Any) -> dict[str, Any]:
        listed = (await client.list_tools()).tools
        assert {tool.name for tool in listed} == set(CALLS)
        for tool in listed:
            assert tool.annotations.read_only_hint is True
            assert len(tool.description) > 60
            assert "client" not in tool.input_schema.get("properties", {})
            assert "ctx" not in tool.input_schema.get("properties", {})
            assert all(field.get("description") for field in tool.input_schema.get("properties", {}).values()), tool
        assert "only reads" in client.instructions
        return {name: await client.call_tool(name, arguments) for name, (arguments, _) in CALLS.items()}

    answers = over_stdio(server.url, use)
    for name, (_, words) in CALLS.items():
        assert not answers[name].is_error, text_of(answers[name])
        assert words in json.dumps(answers[name].structured_content, separators=(",", ":")), name
    assert len(answers["nodes"].structured_content["items"]) == 2
    assert stored(server) == before
    with Client(server.url) as client:
        assert client.workloads(name="planned")["items"] == []


def test_what_is_wrong_is_said_in_words(server: ServerProcess) -> None:
    async def use(client: Any) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments, _ in MISTAKES]

    for (name, arguments, words), answer in zip(MISTAKES, over_stdio(server.url, use), strict=True):
        assert answer.is_error, (name, arguments)
        assert words in text_of(answer), (name, arguments, text_of(answer))
        assert "Traceback" not in text_of(answer)


def test_a_control_plane_that_is_away_is_said_and_asked_again(tmp_path: Path) -> None:
    later = ServerProcess(tmp_path, SETTINGS)

    async def use(client: Any) -> list[Any]:
        first = await client.call_tool("cluster", {})
        await asyncio.to_thread(later.start)
        return [first, await client.call_tool("cluster", {})]

    try:
        away, back = over_stdio(later.url, use)
    finally:
        later.stop()
    assert away.is_error
    assert "is the server running?" in text_of(away)
    assert not back.is_error


def test_over_http_each_caller_has_the_rights_of_its_own_token(server: ServerProcess) -> None:
    import httpx2
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    port = free_ports(1)[0]
    token = (server.data / "admin.token").read_text().strip()
    command = [*DOVETAIL, "mcp", "--http", f"127.0.0.1:{port}"]

    async def ask(headers: dict[str, str]) -> Any:
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            async with mcp.Client(transport) as client:
                return await client.call_tool("explain", {"workload": "greedy"})

    def answers() -> bool:
        import socket

        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with subprocess.Popen(command, env=clean(server.url), stderr=subprocess.DEVNULL) as running:
        try:
            wait_for(answers)
            without, wrong, right = [
                asyncio.run(asyncio.wait_for(ask(headers), 60))
                for headers in ({}, {"Authorization": "Bearer no-such"}, {"Authorization": f"Bearer {token}"})
            ]
        finally:
            running.terminate()
    assert without.is_error
    assert "no token; send one" in text_of(without)
    assert wrong.is_error
    assert "token" in text_of(wrong)
    assert not right.is_error, text_of(right)
    assert "cpu short by 91" in text_of(right)


@pytest.mark.parametrize(
    ("address", "words"), [("here", "is no address"), ("0.0.0.0:8765", "can be reached from other machines")]
)
def test_an_address_that_is_wrong_or_unsafe_is_refused(address: str, words: str) -> None:
    done = subprocess.run([*DOVETAIL, "mcp", "--http", address], capture_output=True, text=True, env=clean())
    assert done.returncode == 2
    assert words in done.stderr
