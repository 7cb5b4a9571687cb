"""What may come in: queues that exist and are not full, and dependencies that can be met."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.patience import until

from dovetail.control.errors import Conflict
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.workload import Workload

SIMULATED = {"kind": "simulated", "groups": [{"count": 1, "prefix": "n", "capacity": {"cpu": 4}}], "forever": True}
QUEUES = {"team": {"queues": {"a": {"max_workloads": 2}, "b": {}}}}


def settings(folder: Path) -> Settings:
    fields = {"data": str(folder), "backends": {"sim": SIMULATED}, "logging": {"level": "error"}}
    return Settings.model_validate(fields | {"scheduling": {"queues": QUEUES}})


def scene(folder: Path, play: Callable[[ControlPlane], Awaitable[None]]) -> None:
    async def run() -> None:
        plane = ControlPlane(settings(folder))
        await plane.start()
        try:
            await play(plane)
        finally:
            await plane.stop()

    asyncio.run(run())


def work(name: str, *after: str, **more: Any) -> Workload:
    named = [{"workload": other} for other in after]
    return Workload.model_validate({"name": name, "resources": {"cpu": 1}, "after": named, **more})


def quick(name: str, *after: str, exit_code: int = 0, **more: Any) -> Workload:
    return work(name, *after, run={"simulate": {"run_time": "1ms", "exit_code": exit_code}}, **more)


def state_of(plane: ControlPlane, name: str) -> str:
    row = plane.store.find_workload("default", name)
    return "" if row is None else str(row["state"])


def test_an_unknown_queue_is_refused_at_its_field_with_the_nearest_name(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        with pytest.raises(Invalid) as refused:
            await plane.submit([work("x", queue="team/c"), work("y", queue="team"), work("z", queue="a")])
        fields = [(c.source, c.field) for c in refused.value.complaints]
        assert fields == [("workload x", "queue"), ("workload y", "queue")]
        assert "has children" in refused.value.complaints[1].message
        assert sum(plane.store.counts().values()) == 0

    scene(tmp_path, play)


def test_an_unknown_strategy_of_a_gang_is_refused_at_its_field_with_the_known_ones(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        with pytest.raises(Invalid) as refused:
            await plane.submit([work("x", replicas=2, gang={"min": 2}, topology={"strategy": "pakc"})])
        (complaint,) = refused.value.complaints
        assert (complaint.source, complaint.field) == ("workload x", "topology.strategy")
        assert complaint.message.startswith("unknown strategy 'pakc'. Did you mean 'pack'?")

    scene(tmp_path, play)


def test_a_full_queue_takes_no_more_until_somebody_starts(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("runs", resources={"cpu": 4})])
        await until(lambda: state_of(plane, "runs") == "running", "the node is full")
        with pytest.raises(Conflict, match=r"queue team/a: 2 workloads wait, and it takes no more than 2 \(with the 2"):
            await plane.submit([work(f"w{i}", queue="a") for i in range(3)])
        await plane.submit([work(f"w{i}", queue="a") for i in range(2)])
        with pytest.raises(Conflict, match="takes no more than 2; try again later"):
            await plane.submit([work("w2", queue="a")])
        await plane.submit([work("other", queue="b")])
        assert [
            plane.workloads.waiting_in(plane.engine._state.router.queues.by_path[p]) for p in ("team", "team/a")
        ] == [3, 2]
        await plane.workloads.cancel([1], "done")
        await until(lambda: state_of(plane, "w1") == "running", "they run now")
        assert (await plane.submit([work("w2", queue="a")]))[0].name == "w2"

    scene(tmp_path, play)


def test_waiting_workloads_are_counted_anew_after_a_restart(tmp_path: Path) -> None:
    async def before(plane: ControlPlane) -> None:
        await plane.submit([work("big", resources={"cpu": 100}, queue="a"), work("late", "big", queue="a")])

    async def after(plane: ControlPlane) -> None:
        with pytest.raises(Conflict, match="takes no more than 2"):
            await plane.submit([work("x", queue="a")])

    scene(tmp_path, before)
    scene(tmp_path, after)


def test_workloads_of_one_submission_wait_for_each_other_in_any_order(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        accepted = await plane.submit([quick("last", "middle"), quick("middle", "first"), work("first")])
        assert [(a.id, a.name) for a in accepted] == [(1, "last"), (2, "middle"), (3, "first")]
        assert dict(plane.engine._state.work[1].after) == {2: "succeeded"}
        assert dict(plane.engine._state.work[2].after) == {3: "succeeded"}
        await until(lambda: state_of(plane, "first") == "running", "the first runs")
        assert plane.engine._state.work[1].reason == "dependency"

    scene(tmp_path, play)


def test_a_deadline_passes_although_nothing_else_happens_also_after_a_restart(tmp_path: Path) -> None:
    never = {"resources": {"cpu": 100}}

    async def before(plane: ControlPlane) -> None:
        await plane.submit([work("soon", deadline={"schedule_within": "50ms"}, **never)])
        await until(lambda: state_of(plane, "soon") == "failed", "its deadline passes")
        await plane.submit([work("later", deadline={"schedule_within": "300ms"}, **never)])

    async def after(plane: ControlPlane) -> None:
        await until(lambda: state_of(plane, "later") == "failed", "the deadline is remembered")
        row = plane.store.find_workload("default", "later")
        assert row is not None
        assert row["reason"] == "timeout"

    scene(tmp_path, before)
    scene(tmp_path, after)


def test_a_circle_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        with pytest.raises(Invalid, match=r"after: .*a -> b -> a"):
            await plane.submit([work("a", "b"), work("b", "a")])
        assert sum(plane.store.counts().values()) == 0

    scene(tmp_path, play)


def test_a_dependency_is_found_among_what_lives_what_ended_and_what_only_the_store_knows(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await plane.submit([quick("good"), quick("bad", exit_code=3), work("lives")])
        await until(lambda: state_of(plane, "good") == "succeeded" and state_of(plane, "bad") == "failed", "both end")
        await plane.submit([quick("after-good", "good")])
        with pytest.raises(Invalid, match=r"after\[0\]\.workload: bad has failed \(workload 2\)"):
            await plane.submit([work("x", "bad")])
        plane.engine._state.ended.clear()  # as if ten thousand others had ended since
        await plane.submit([quick("long-after-good", "good")])
        with pytest.raises(Invalid, match=r"after\[0\]\.workload: bad has failed \(workload 2\)"):
            await plane.submit([work("x", "bad")])
        await plane.submit([quick("either-way", after=[{"workload": "bad", "condition": "finished"}])])
        for name in ("after-good", "long-after-good", "either-way"):
            await until(lambda name=name: state_of(plane, name) == "succeeded", f"{name} starts at once")  # type: ignore[misc]
        await plane.submit([work("waits", "lives")])
        id_, _ = plane.engine._state.cluster.placements.directory["default", "waits"]
        assert dict(plane.engine._state.work[id_].after) == {3: "succeeded"}
        with pytest.raises(Invalid, match="no workload 'ghost' in namespace 'default'"):
            await plane.submit([work("fine"), work("x", "ghost")])
        assert plane.store.find_workload("default", "fine") is None
        with pytest.raises(Invalid, match="no workload 'lives' in namespace 'other'"):
            await plane.submit([work("x", "lives", namespace="other")])

    scene(tmp_path, play)


def test_a_rehearsal_says_what_a_submission_would_be_told(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("a")])
        with pytest.raises(Conflict, match="default/a"):
            await plane.workloads.check_now([work("a")])
        with pytest.raises(Invalid, match="no workload 'ghost'"):
            await plane.workloads.check_now([work("b", "ghost")])
        await plane.workloads.check_now([work("b", "a")])
        assert plane.store.find_workload("default", "b") is None

    scene(tmp_path, play)


def test_what_was_learned_is_written_when_the_server_stops_and_known_after_the_next_start(tmp_path: Path) -> None:
    learned: dict[str, Any] = {}

    async def before(plane: ControlPlane) -> None:
        await plane.submit([quick("a", user="anna", deadline={"run_for": 60})])
        await until(lambda: state_of(plane, "a") == "succeeded", "it ends")
        learned.update(plane.engine._state.learned.run_times.to_json())
        assert learned

    async def after(plane: ControlPlane) -> None:
        assert plane.engine._state.learned.run_times.to_json() == learned

    scene(tmp_path, before)
    scene(tmp_path, after)


def test_what_was_learned_is_written_now_and_then_while_anything_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.control.loop.loop.REMEMBER_EVERY_S", 0.05)
    written: list[dict[str, str]] = []

    async def play(plane: ControlPlane) -> None:
        write = plane.store.write

        def noticing(batch: Any, *committing: Any) -> None:
            if batch.changes.memory:
                written.append(batch.changes.memory)
            write(batch, *committing)

        monkeypatch.setattr(plane.store, "write", noticing)
        await plane.submit([quick("a")])
        await until(lambda: bool(written), "memory goes along with a step, or alone if nothing else happens")
        await until(lambda: state_of(plane, "a") == "succeeded", "it ends")

    scene(tmp_path, play)
    assert "run_times" in written[0]
