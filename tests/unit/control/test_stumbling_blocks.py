"""Work that makes a backend stumble every time delays nobody but itself; a backend in trouble is still found out."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.patience import until
from tests.unit.control.test_plane import settings, work

from dovetail.backends.contract import Assignment
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.control.backends import breaker as breaker_module
from dovetail.control.backends import execution as execution_module
from dovetail.control.backends.member import Member
from dovetail.control.plane import ControlPlane
from dovetail.model.node import Node

LAB = {"kind": "simulated", "groups": [{"count": 3, "prefix": "lab", "capacity": {"cpu": 1000}}], "forever": True}
PARALLEL = 4


class Fate:
    """What goes wrong at the backend: binds of these workloads, or everything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bad: set[str] = set()
        self.away = False
        self.asked: list[str] = []
        bind, nodes = SimulatedBackend.bind, SimulatedBackend.nodes

        async def binding(backend: SimulatedBackend, assignment: Assignment) -> None:
            self.asked.append(assignment.spec.name)
            if self.away or assignment.spec.name in self.bad:
                raise ConnectionError("500 Internal Server Error")
            await bind(backend, assignment)

        async def asking(backend: SimulatedBackend) -> list[Node]:
            if self.away:
                raise ConnectionError("no route")
            return await nodes(backend)

        monkeypatch.setattr(SimulatedBackend, "bind", binding)
        monkeypatch.setattr(SimulatedBackend, "nodes", asking)


@pytest.fixture
def fate(monkeypatch: pytest.MonkeyPatch) -> Fate:
    for module in (breaker_module, execution_module):
        monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.01)
        monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.1)
    return Fate(monkeypatch)


def scene(folder: Path, play: Callable[[ControlPlane], Awaitable[None]]) -> None:
    async def run() -> None:
        given = settings(folder, backends={"lab": LAB}, loop={"parallel": PARALLEL})
        plane = ControlPlane(given)
        await plane.start()
        try:
            await asyncio.wait_for(play(plane), 60)
        finally:
            await plane.stop()

    asyncio.run(run())


def lab(plane: ControlPlane) -> Member:
    return plane.backends.get("lab").member


def errors(plane: ControlPlane) -> int:
    executor = lab(plane).executor
    assert executor is not None
    return executor.health.errors


def unavailable(plane: ControlPlane) -> bool:
    cluster = plane.engine._state.cluster
    return not cluster.status.ready[cluster.rows["lab-1"]]


def test_one_task_that_is_answered_with_an_error_every_time_delays_no_other(tmp_path: Path, fate: Fate) -> None:
    fate.bad = {"bad"}

    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("bad")])
        await until(lambda: errors(plane) > 2 * breaker_module.FAILURES_UNTIL_OPEN, "it fails again and again")
        assert lab(plane).state == "closed"
        assert not unavailable(plane)
        await plane.submit([work(f"good-{i}") for i in range(10)])
        await until(lambda: plane.store.counts()["running"] == 10, "the others run")
        fate.bad.clear()
        await until(lambda: plane.store.counts()["running"] == 11, "so does it when it can, under the same key")

    scene(tmp_path, play)


def test_more_bad_tasks_than_there_are_workers_delay_no_other(tmp_path: Path, fate: Fate) -> None:
    fate.bad = {"bad"}

    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("bad", replicas=5 * PARALLEL)])
        await until(lambda: errors(plane) > 5 * PARALLEL, "all of them fail")
        await plane.submit([work(f"good-{i}") for i in range(10)])
        await until(lambda: plane.store.counts()["running"] == 10, "the others run")
        assert lab(plane).state == "closed"

    scene(tmp_path, play)


def test_bad_work_of_several_people_does_not_keep_a_backend_from_the_others(tmp_path: Path, fate: Fate) -> None:
    fate.bad = {"bad-1", "bad-2", "bad-3"}

    async def play(plane: ControlPlane) -> None:
        await plane.submit([work(name) for name in sorted(fate.bad)])
        await until(lambda: set(fate.asked) == fate.bad and errors(plane) > 9, "they fail again and again")
        await plane.submit([work(f"good-{i}") for i in range(10)])
        await until(lambda: plane.store.counts()["running"] == 10, "the others run")
        await until(lambda: lab(plane).state == "closed" and not unavailable(plane), "it is used")

    scene(tmp_path, play)


@pytest.mark.parametrize("names", [("only",), ("one", "two", "three")], ids=["one workload", "several"])
def test_a_backend_that_cannot_be_reached_is_found_out_whoever_asks(
    tmp_path: Path, fate: Fate, names: tuple[str, ...]
) -> None:
    fate.away = True

    async def play(plane: ControlPlane) -> None:
        await plane.submit([work(name) for name in names])
        await until(lambda: lab(plane).state == "open" and unavailable(plane), "it is left alone")
        asked = len(fate.asked)
        await until(lambda: errors(plane) >= asked + 3, "it is asked whether it is back")
        assert len(fate.asked) <= asked + PARALLEL, "and nothing else"
        fate.away = False
        await until(lambda: plane.store.counts()["running"] == len(names), "what waited runs")
        await until(lambda: lab(plane).state == "closed" and not unavailable(plane), "it is used again")

    scene(tmp_path, play)


def test_what_was_stopped_while_it_failed_is_never_bound_again(tmp_path: Path, fate: Fate) -> None:
    fate.bad = {"bad"}

    async def play(plane: ControlPlane) -> None:
        (accepted,) = await plane.submit([work("bad")])
        await until(lambda: errors(plane) > 2, "it fails")
        await plane.workloads.cancel([accepted.id], "no more")
        await until(lambda: plane.store.counts()["cancelled"] == 1, "it is stopped")
        executor = lab(plane).executor
        assert executor is not None
        await until(lambda: executor.waiting == 0, "and its bind is settled")
        fate.bad.clear()
        asked = len(fate.asked)
        await asyncio.sleep(0.5)
        assert len(fate.asked) == asked

    scene(tmp_path, play)
