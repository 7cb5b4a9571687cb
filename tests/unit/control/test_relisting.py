"""What a backend forgot to report is asked for."""

import asyncio
from pathlib import Path

import pytest
from tests.patience import until
from tests.unit.control.test_plane import backend_of, scene, settings, work

from dovetail.backends.contract import Status
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.control.plane import ControlPlane
from dovetail.model.event import Event, TaskFinished, TaskStarted

LOOP = {"relist": "100ms"}
FOREVER = {"kind": "simulated", "groups": [{"count": 3, "prefix": "n"}], "forever": True}
BRIEF = {"kind": "simulated", "groups": [{"count": 3, "prefix": "n"}]}


def _drops(monkeypatch: pytest.MonkeyPatch, kind: type[Event]) -> None:
    deliver = SimulatedBackend._deliver

    async def without(self: SimulatedBackend, event: Event, report: object) -> None:
        if not isinstance(event, kind):
            await deliver(self, event, report)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedBackend, "_deliver", without)


def test_an_end_that_was_not_reported_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _drops(monkeypatch, TaskFinished)

    async def play(plane: ControlPlane) -> None:
        (one,) = await plane.submit([work("a", run={"simulate": {"run_time": "50ms", "exit_code": 3}})])
        await until(lambda: one.id not in plane.questions.workloads, "its end")
        await until(lambda: plane.store.counts()["failed"] == 1, "its end is stored, as a failure")

    scene(settings(tmp_path, backends={"sim": BRIEF}, loop=LOOP), play)


def test_a_start_that_was_not_reported_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _drops(monkeypatch, TaskStarted)

    async def play(plane: ControlPlane) -> None:
        (one,) = await plane.submit([work("a")])
        await until(lambda: plane.store.counts()["running"] == 1, "its start")
        assert one.id in plane.questions.workloads

    scene(settings(tmp_path, backends={"sim": FOREVER}, loop=LOOP), play)


def test_an_attempt_that_is_not_known_any_more_is_ended_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(plane: ControlPlane) -> None:
        (one,) = await plane.submit([work("a", retries=3)])
        await until(lambda: plane.store.counts()["running"] == 1, "its start")
        backend, asked = backend_of(plane, "sim"), list[str]()
        known = backend.status

        async def status(key: str) -> Status:
            asked.append(key)
            if key.endswith(".1"):
                raise KeyError(key)
            return await known(key)

        monkeypatch.setattr(backend, "status", status)
        await until(lambda: any(not key.endswith(".1") for key in asked), "another attempt")
        first = f"{one.id}.0.1"
        assert asked.count(first) >= 2

    scene(settings(tmp_path, backends={"sim": FOREVER}, loop=LOOP), play)


def test_attempts_that_are_well_are_left_alone(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        (one,) = await plane.submit([work("a")])
        await until(lambda: plane.store.counts()["running"] == 1, "its start")
        before = plane.store.newest_history()
        await asyncio.sleep(0.6)
        assert plane.store.newest_history() == before
        assert one.id in plane.questions.workloads

    scene(settings(tmp_path, backends={"sim": FOREVER}, loop=LOOP), play)
