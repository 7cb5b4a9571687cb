"""One backend's trouble never delays another: backends that hang in every way, beside one that works."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import until
from tests.unit.control.test_plane import settings, work

from dovetail.backends import registry
from dovetail.backends.contract import Assignment, Backend, Report
from dovetail.backends.registry import BackendKind
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.control.backends import roster as backends_module
from dovetail.control.plane import ControlPlane
from dovetail.model.node import Node

GOOD = {"kind": "simulated", "groups": [{"count": 3, "prefix": "good"}], "forever": True}
MANY = 300


class Hanging(SimulatedBackend):
    """Hangs where it is told to, until everybody has gone home."""

    where: str = "bind"
    over = threading.Event()

    async def start(self, report: Report) -> None:
        if self.where == "start":
            await asyncio.Event().wait()
        await super().start(report)

    async def bind(self, assignment: Assignment) -> None:
        if self.where == "bind":
            await asyncio.Event().wait()
        if self.where == "threads":
            await asyncio.to_thread(self.over.wait)
        await super().bind(assignment)

    async def nodes(self) -> list[Node]:
        if self.where in ("bind", "threads"):
            raise ConnectionError("no route")
        return await super().nodes()

    async def reconcile(self, assignments: list[Assignment]) -> None:
        if self.where == "reconcile":
            await asyncio.Event().wait()
        await super().reconcile(assignments)

    async def close(self) -> None:
        if self.where == "close":
            await asyncio.Event().wait()
        await super().close()


@pytest.fixture(autouse=True)
def _hanging_kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def build(name: str, given: SimulatedSettings, folder: Path) -> Backend:
        return Hanging(name, given)

    monkeypatch.setitem(registry.KINDS, "hanging", BackendKind(SimulatedSettings, build))
    monkeypatch.setattr(backends_module, "FIRST_START_S", 0.2)
    monkeypatch.setattr(backends_module, "CLOSE_S", 0.2)
    Hanging.over.clear()
    yield
    Hanging.over.set()


def scene(folder: Path, play: Callable[[ControlPlane], Awaitable[None]], **more: Any) -> None:
    bad = {"kind": "hanging", "groups": [{"count": 3, "prefix": "bad"}], "forever": True}

    async def run() -> None:
        plane = ControlPlane(settings(folder, backends={"bad": bad, "good": GOOD}, **more))
        await asyncio.wait_for(plane.start(), 20)
        try:
            await play(plane)
        finally:
            Hanging.over.set()
            await asyncio.wait_for(plane.stop(), 20)

    asyncio.run(run())


@pytest.mark.parametrize("where", ["start", "bind", "threads", "reconcile", "close"])
def test_work_for_a_good_backend_goes_on_beside_one_that_hangs(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hanging, "where", where)

    async def play(plane: ControlPlane) -> None:
        if where != "start":
            await plane.submit([work(f"stuck-{i}", backends={"allow": ["bad"]}) for i in range(40)])
        good = [work(f"good-{i}", resources={"cpu": "10m"}, backends={"allow": ["good"]}) for i in range(MANY)]
        names = [accepted.id for accepted in await plane.submit(good)]
        state = plane.engine._state
        await until(lambda: all(state.work[id_].tasks[0].state == "running" for id_ in names), "all the good work runs")

    scene(tmp_path, play)


def test_a_backend_without_answers_is_found_out_left_alone_and_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hanging, "where", "bind")

    async def play(plane: ControlPlane) -> None:
        await plane.submit([work(f"w{i}", backends={"allow": ["bad"]}) for i in range(4)])
        await until(lambda: plane.backends.get("bad").member.state == "open", "its breaker opens")
        cluster = plane.engine._state.cluster
        await until(lambda: not cluster.status.ready[cluster.rows["bad-1"]], "its nodes are not used")
        health = plane.backends.get("bad").member.executor
        assert health is not None
        await until(lambda: "ConnectionError: no route" in plane.backends.get("bad").member.problem, "probes fail")
        assert health.waiting == 4
        assert plane.metrics.registry.get_sample_value("dovetail_backend_available", {"backend": "bad"}) == 0.0
        assert plane.metrics.registry.get_sample_value("dovetail_backend_available", {"backend": "good"}) == 1.0
        monkeypatch.setattr(Hanging, "where", "nowhere")
        await until(lambda: plane.backends.get("bad").member.state == "closed", "it is used again")
        await until(lambda: plane.store.counts()["running"] == 4, "what waited runs")
        assert health.waiting == 0
        failed_line, used_line = plane.store.history(backend="bad")
        assert failed_line["message"].startswith("backend bad cannot be used: no answer within 0.1")
        assert used_line["message"] == "backend bad can be used again: answers again"
        calls = {"backend": "bad", "call": "bind", "outcome": "failed"}
        failed = plane.metrics.registry.get_sample_value("dovetail_backend_calls_total", calls)
        assert failed is not None
        assert failed >= 3

    scene(tmp_path, play, loop={"call_timeout": "100ms"})


def test_a_backend_that_was_not_there_at_the_start_comes_when_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    come = asyncio.Event()
    begin = SimulatedBackend.start

    async def late(self: SimulatedBackend, report: Report) -> None:
        if self.name == "bad":
            await come.wait()
        await begin(self, report)

    monkeypatch.setattr(Hanging, "where", "nowhere")
    monkeypatch.setattr(SimulatedBackend, "start", late)

    async def play(plane: ControlPlane) -> None:
        assert plane.backends.get("bad").member.state == "starting"
        await plane.submit([work("w", backends={"allow": ["bad"]})])
        come.set()
        await until(lambda: plane.store.counts()["running"] == 1, "it runs")
        assert plane.backends.get("bad").member.state == "closed"

    scene(tmp_path, play)
