"""The asynchronous client and `wait`, against a real server."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import AsyncClient, Client, ConnectError, DovetailError
from dovetail.client.client import Client as Synchronous


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as found:
        yield found


def short(name: str, run_time: str = "50ms", exit_code: int = 0) -> dict[str, object]:
    return {"name": name, "run": {"simulate": {"run_time": run_time, "exit_code": exit_code}}}


def test_it_has_every_method_of_the_client_with_the_same_arguments() -> None:
    for name, method in inspect.getmembers(Synchronous, inspect.isfunction):
        if not name.startswith("_"):
            assert hasattr(AsyncClient, name), f"add to AsyncClient: {name} = awaited(Client.{name})"
            assert inspect.signature(getattr(AsyncClient, name)) == inspect.signature(method) or name in (
                "wait",
                "close",
            )
            streams = "Iterator[" in str(inspect.signature(method).return_annotation)
            assert inspect.isasyncgenfunction(inspect.unwrap(getattr(AsyncClient, name), stop=_is_async)) == streams
    assert set(inspect.signature(AsyncClient.wait).parameters) == set(inspect.signature(Client.wait).parameters)


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def test_answers_and_errors_are_those_of_the_client(url: str) -> None:
    async def scene() -> None:
        async with AsyncClient(url) as client:
            assert client.url == url
            await client.submit([short("a1"), short("a2", exit_code=3)])
            first, second = await client.wait("a1", "a2")
            assert (first["state"], second["state"]) == ("succeeded", "failed")
            nodes, summary = await asyncio.gather(client.nodes(), client.summary())
            assert len(nodes) == 4
            assert summary["workloads"]
            with pytest.raises(DovetailError, match="nobody"):
                await client.workload("nobody")
        with pytest.raises(ConnectError):
            async with AsyncClient("http://127.0.0.1:1") as nobody:
                await nobody.health()

    asyncio.run(scene())


def test_streams_are_iterated_and_can_be_given_up(url: str) -> None:
    async def scene() -> None:
        async with AsyncClient(url) as client:
            await client.submit(short("streamed"))
            async for event in client.events(after=0, workload="streamed"):
                assert event["kind"]
                break
            await client.wait("streamed")
            assert (
                "".join([text async for text in client.follow_logs("streamed")]) == (await client.logs("streamed")).text
            )
            with pytest.raises(DovetailError):
                async for _ in client.follow_logs("nobody"):
                    pass

    asyncio.run(scene())


def test_wait_returns_the_ended_workloads_in_the_order_given_and_tells_on_the_way(url: str) -> None:
    told: list[str] = []
    with Client(url) as client:
        client.submit([short("w1"), short("w2")])
        rows = client.wait("w2", "w1", "w2", told=lambda row: told.append(row["name"]))
    assert [row["name"] for row in rows] == ["w2", "w1", "w2"]
    assert {row["state"] for row in rows} == {"succeeded"}
    assert set(told) == {"w1", "w2"}


def test_wait_ends_with_an_error_when_the_time_is_over_and_leaves_the_work_alone(url: str, tmp_path: Path) -> None:
    with Client(url) as client:
        client.submit(short("long", run_time="1h"))
        wait_for(lambda: client.workload("long")["state"] == "running")
        with pytest.raises(TimeoutError, match="long is running"):
            client.wait("long", timeout_s=0.01)
        assert client.workload("long")["state"] == "running"
        client.cancel("long")
