"""Subsystems run beside the loop: they hear what is durable, and whatever goes wrong with them stops nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.patience import until, wait_for

from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings, load_settings
from dovetail.control.subsystems import registry
from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.control.subsystems.declaration import SubsystemDeclaration
from dovetail.control.subsystems.runner import RunnerLimits, RunState, SubsystemRunner
from dovetail.model.batch import Batch
from dovetail.model.event import NodeCordoned
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.workload import Workload

QUICK = RunnerLimits(most_queued=3, first_pause_s=0.01, longest_pause_s=0.02, beat_s=0.01, stop_s=0.2)
PATIENT = replace(QUICK, stop_s=60.0)
STEP = DurableStep(Batch(), {})


# --- one runner --------------------------------------------------------------------------------------------------


class Recording(Subsystem):
    """Without a context: what it hears goes into `heard`, a new list for each test."""

    heard: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self._heard = Recording.heard  # one that hangs may outlive its test

    async def start(self) -> None:
        self._heard.append("start")

    async def take(self, step: DurableStep) -> None:
        self._heard.append("step")

    async def stop(self) -> None:
        self._heard.append("stop")


class Raising(Recording):
    async def take(self, step: DurableStep) -> None:
        raise OSError("no such host")


class RaisingByItself(Recording):
    async def run(self) -> None:
        raise LookupError("nothing there")


class Waiting(Recording):
    """Hangs as asynchronous code does: its event loop turns, the step never ends."""

    async def take(self, step: DurableStep) -> None:
        await asyncio.sleep(3600)


class Blocking(Recording):
    """Hangs as other code does: its thread is blocked."""

    async def run(self) -> None:
        time.sleep(2)  # noqa: ASYNC251 - that is what it is about


@pytest.fixture(autouse=True)
def _nothing_heard() -> None:
    Recording.heard = []


def runner(kind: type[Recording], hang_s: float = 60.0, limits: RunnerLimits = QUICK) -> SubsystemRunner:
    found = SubsystemRunner("test", kind, hang_s, limits)
    found.supervise()
    return found


def supervised(runner: SubsystemRunner, holds: Callable[[], bool], what: str) -> None:
    def look() -> bool:
        runner.supervise()
        return holds()

    wait_for(look, what)


def test_it_hears_every_step_between_its_start_and_its_stop() -> None:
    one = runner(Recording, limits=PATIENT)
    for _ in range(3):
        one.feed(STEP)
    one.request_stop()
    one.join()
    assert Recording.heard == ["start", "step", "step", "step", "stop"], "what was queued is still taken"
    assert one.health().state is RunState.STOPPED


@pytest.mark.parametrize(("kind", "words"), [(Raising, "OSError: no such host"), (RaisingByItself, "LookupError")])
def test_one_that_raises_is_counted_and_started_again(kind: type[Recording], words: str) -> None:
    one = runner(kind)
    one.feed(STEP)
    supervised(one, lambda: one.health().failures >= 1, "the failure is noted")
    assert words in one.health().problem
    one.feed(STEP)
    supervised(one, lambda: Recording.heard.count("start") >= 2, "it starts again")
    assert "stop" in Recording.heard, "it may clean up after itself"
    one.request_stop()
    one.join()


@pytest.mark.parametrize("kind", [Waiting, Blocking])
def test_one_that_hangs_is_abandoned_and_started_again(kind: type[Recording]) -> None:
    one = runner(kind, hang_s=0.1)
    one.feed(STEP)
    supervised(one, lambda: one.health().hangs >= 1, "the hang is noted")
    assert "hangs: no progress for" in one.health().problem
    supervised(one, lambda: Recording.heard.count("start") >= 2, "it starts again")
    one.request_stop()
    began = time.monotonic()
    one.join()
    assert time.monotonic() - began < 10, "nobody waits for one that hangs"


def test_a_full_queue_drops_steps_and_makes_nobody_wait() -> None:
    one = runner(Waiting)
    wait_for(lambda: one.health().state is RunState.RUNNING, "it runs")
    for _ in range(10):
        one.feed(STEP)
    health = one.health()
    assert health.dropped >= 6
    assert health.queued <= QUICK.most_queued
    one.request_stop()
    one.join()


# --- beside a live control plane ---------------------------------------------------------------------------------


class Cordoning(Subsystem):
    """Asks, hears of placements and answers with an event."""

    async def start(self) -> None:
        self.node = await self.context.ask(lambda questions: min(questions.nodes.names))

    async def take(self, step: DurableStep) -> None:
        if any(decision.node == self.node for decision in step.batch.changes.decisions):
            assert step.names
            self.context.put([NodeCordoned(self.node, True, "seen")])


class NeverBuilt(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        raise RuntimeError("no licence")


class RaisingSubsystem(Subsystem):
    async def take(self, step: DurableStep) -> None:
        raise OSError("no such host")


class HangingSubsystem(Subsystem):
    async def take(self, step: DurableStep) -> None:
        time.sleep(3)  # noqa: ASYNC251 - that is what it is about


def bad_metrics(prometheus: Any) -> None:
    class Bad:
        def collect(self) -> list[Any]:
            raise ValueError("cannot count")

    prometheus.register(Bad())


def declare(monkeypatch: pytest.MonkeyPatch, *kinds: type[Subsystem], **fields: Any) -> Mapping[str, dict[str, Any]]:
    """Settings that name them."""
    more = {
        kind.__name__: SubsystemDeclaration(kind.__name__, f"{__name__}:{kind.__name__}", hang_s=0.5, **fields)
        for kind in kinds
    }
    monkeypatch.setattr(registry, "BUILT_IN", registry.BUILT_IN | more)
    monkeypatch.setattr("dovetail.control.subsystems.host.BUILT_IN", registry.BUILT_IN)
    monkeypatch.setattr("dovetail.control.subsystems.host.SUPERVISE_S", 0.01)
    return {name: {} for name in more}


def scene(folder: Path, subsystems: Mapping[str, Any], play: Callable[[ControlPlane], Awaitable[None]]) -> None:
    cluster = {"kind": "simulated", "groups": [{"count": 2, "prefix": "n", "capacity": {"cpu": 4}}], "forever": True}
    fields = {"data": str(folder), "backends": {"sim": cluster}, "logging": {"level": "error", "decisions": False}}

    async def run() -> None:
        plane = ControlPlane(Settings.model_validate({**fields, "subsystems": dict(subsystems)}))
        await plane.start()
        try:
            await play(plane)
        finally:
            await plane.stop()

    asyncio.run(run())


def work(name: str) -> Workload:
    return Workload.model_validate({"name": name, "resources": {"cpu": 1}, "replicas": 2})


def runs(plane: ControlPlane, name: str) -> bool:
    row = plane.store.find_workload("default", name)
    return row is not None and row["state"] == "running"


def sample(plane: ControlPlane, metric: str, name: str) -> float:
    return plane.metrics.registry.get_sample_value(f"dovetail_subsystem_{metric}", {"subsystem": name}) or 0.0


def test_one_may_ask_and_answers_with_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("a")])
        node = min(plane.questions.nodes.names)
        await until(lambda: plane.questions.nodes.use(node).cordoned, "its event reached the engine")
        assert plane.questions.nodes.use(node).reason == "seen"
        await until(lambda: sample(plane, "up", "Cordoning") == 1.0, "it is counted as running")

    scene(tmp_path, declare(monkeypatch, Cordoning), play)


def test_scheduling_goes_on_beside_one_that_raises_one_that_hangs_and_one_that_cannot_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(plane: ControlPlane) -> None:
        for name in ("a", "b", "c"):
            await plane.submit([work(name)])
            await until(lambda name=name: runs(plane, name), f"{name} runs")  # type: ignore[misc]
        for kind, words in (
            (RaisingSubsystem, "OSError: no such host"),
            (HangingSubsystem, "hangs"),
            (NeverBuilt, "RuntimeError: no licence"),
        ):
            failed = lambda kind=kind: sample(plane, "failures_total", kind.__name__) >= 1  # noqa: E731
            await until(failed, f"{kind.__name__} is counted")
            if kind is NeverBuilt:
                assert f"subsystem {kind.__name__}: {words}" in plane.subsystems.trouble
        assert sample(plane, "hangs_total", "HangingSubsystem") >= 1
        assert plane.ready
        await plane.submit([work("d")])
        await until(lambda: runs(plane, "d"), "it is still decided")

    scene(tmp_path, declare(monkeypatch, RaisingSubsystem, HangingSubsystem, NeverBuilt), play)


def test_metrics_that_cannot_be_collected_leave_the_page_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(plane: ControlPlane) -> None:
        assert b"dovetail_backend_available" in plane.metrics.text()

    scene(tmp_path, declare(monkeypatch, Cordoning, metrics=f"{__name__}:bad_metrics"), play)


def test_an_unknown_subsystem_is_a_mistake_in_the_settings_and_stops_no_plane(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.yaml"
    path.write_text("subsystems:\n  backend_helth: {}\n  backend_health: {probe_every: 1ms}\n")
    with pytest.raises(Invalid) as refused:
        load_settings(path, {})
    assert "Did you mean 'backend_health'" in refused.value.complaints[0].message
    assert "probe_every" in refused.value.complaints[1].message

    async def play(plane: ControlPlane) -> None:
        assert "unknown subsystem 'ghost'" in plane.subsystems.trouble
        await plane.submit([work("a")])
        await until(lambda: runs(plane, "a"), "it runs")

    scene(tmp_path, {"ghost": {}}, play)


def test_hooks_have_a_field_of_their_own() -> None:
    with pytest.raises(ValueError, match="write them under `hooks`"):
        Settings.model_validate({"subsystems": {"hooks": {}}})


def test_backends_are_asked_although_nothing_is_sent_to_them(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        member = plane.backends.get("sim").member
        assert member.executor is not None
        before = member.executor.health.calls
        await until(lambda: member.executor is not None and member.executor.health.calls > before, "it is asked")

    scene(tmp_path, {"backend_health": {"probe_every": "1s"}}, play)
