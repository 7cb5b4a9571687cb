"""The control plane with a real SQLite store and the simulated backend, in process."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_S, until

from dovetail.backends.contract import Assignment, Backend, Refusal
from dovetail.control.backends.breaker import FAILURES_UNTIL_OPEN
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.control.loop.idempotency import IdempotencyKey
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.model.batch import Batch
from dovetail.model.node import Node
from dovetail.model.reservation import Reservation
from dovetail.model.resources import ResourceRequest
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import StoreError

SIMULATED = {"kind": "simulated", "groups": [{"count": 3, "prefix": "n"}], "forever": True}


def settings(folder: Path, **more: Any) -> Settings:
    fields = {"data": str(folder), "backends": {"sim": SIMULATED}, "logging": {"level": "error"}, **more}
    return Settings.model_validate(fields)


def scene(settings: Settings, play: Callable[[ControlPlane], Awaitable[None]]) -> None:
    async def run() -> None:
        plane = ControlPlane(settings)
        await plane.start()
        try:
            await play(plane)
        finally:
            await plane.stop()

    asyncio.run(run())


def backend_of(plane: ControlPlane, name: str) -> Backend:
    executor = plane.backends.get(name).member.executor
    assert executor is not None
    return executor.backend


def work(name: str, **more: Any) -> Workload:
    return Workload.model_validate({"name": name, "resources": {"cpu": 1}, **more})


def test_what_was_accepted_is_in_the_store_when_submit_returns(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        accepted = await plane.submit([work("a"), work("b")])
        row = plane.store.workload(accepted[1].id)
        assert row is not None
        assert row["name"] == "b"

    scene(settings(tmp_path), play)


def test_a_duplicate_name_refuses_the_whole_submission(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("a")])
        with pytest.raises(Conflict, match="default/a"):
            await plane.submit([work("new"), work("a")])
        assert plane.store.find_workload("default", "new") is None
        assert (await plane.submit([work("a", namespace="other")]))[0].namespace == "other"

    scene(settings(tmp_path), play)


def test_the_same_idempotency_key_gives_the_same_answer(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        first = await plane.submit([work("a")], IdempotencyKey("key-1"))
        assert await plane.submit([work("a")], IdempotencyKey("key-1")) == first
        assert sum(plane.store.counts().values()) == 1

    async def after_a_restart(plane: ControlPlane) -> None:
        key = IdempotencyKey("key-1", "digest of b")
        again = await plane.submit([work("a")], IdempotencyKey("key-1"))
        assert [one.name for one in again] == ["a"]
        assert (await plane.submit([work("b")], key))[0].name == "a", "the first request is not known"
        first = await plane.submit([work("c")], IdempotencyKey("key-2", "digest of c"))
        assert await plane.submit([work("c")], IdempotencyKey("key-2", "digest of c")) == first
        with pytest.raises(Invalid, match="another submission"):
            await plane.submit([work("d")], IdempotencyKey("key-2", "digest of d"))

    scene(settings(tmp_path), play)
    scene(settings(tmp_path), after_a_restart)


def test_limits_and_routes_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        with pytest.raises(Invalid, match="replicas: 100000 is more than"):
            await plane.submit([work("a", replicas=100_000)])
        with pytest.raises(Invalid, match="profile: unknown profile 'nosuch'"):
            await plane.submit([work("a", profile="nosuch")])
        with pytest.raises(Invalid, match="unknown scheduler"):
            await plane.submit([work("a", scheduler="nosuch")])
        with pytest.raises(Invalid, match="split the submission"):
            await plane.submit([work(f"w{i}") for i in range(6)])
        assert sum(plane.store.counts().values()) == 0

    scene(settings(tmp_path, limits={"max_batch": 5}), play)


def test_a_definition_of_another_version_keeps_nothing_else_from_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as one with more labels than this version accepts."""

    def running(plane: ControlPlane, name: str) -> bool:
        row = plane.store.find_workload("default", name)
        return row is not None and row["state"] == "running"

    async def play(plane: ControlPlane) -> None:
        await plane.submit([work("old"), work("other")])
        await until(lambda: running(plane, "other"), "it runs")

    async def after_a_restart(plane: ControlPlane) -> None:
        await plane.submit([work("new")])
        await until(lambda: running(plane, "new"), "it runs")
        assert running(plane, "other")
        await plane.workloads.cancel([(await plane.resolve("old"))["id"]], "enough")

    scene(settings(tmp_path), play)
    with sqlite3.connect(tmp_path / "dovetail.db") as database:
        many = json.dumps({f"label{number}": "x" for number in range(10_000)})
        changed = database.execute(
            "UPDATE workloads SET spec_json = json_set(spec_json, '$.labels', json(?)) WHERE id = 1", [many]
        )
        assert changed.rowcount == 1
    scene(settings(tmp_path), after_a_restart)
    assert "the definition of workload 1 was accepted by another version; labels: " in capsys.readouterr().out


def test_a_restart_restores_placements_queue_cordons_and_reservations(tmp_path: Path) -> None:
    kept: dict[str, Any] = {}

    async def before(plane: ControlPlane) -> None:
        await plane.submit([work("a", replicas=4), work("big", resources={"cpu": 1000})])
        await until(lambda: plane.store.counts()["running"] == 1, "a runs")
        await plane.nodes.cordon("n-2", "upgrade")
        await plane.nodes.patch("n-1", {"team": "blue"}, None)
        await plane.reservations.reserve(
            Reservation(node="n-1", resources=ResourceRequest(cpu=2), duration=3600, holder="ops")
        )
        kept["placed"] = dict(plane.engine._state.cluster.placements.by_task.items())

    async def after(plane: ControlPlane) -> None:
        cluster = plane.engine._state.cluster
        placed = {task: cluster.names[p.row] for task, p in cluster.placements.by_task.items()}
        assert len(placed) == 4
        assert set(placed) == set(kept["placed"])
        assert cluster.status.cordoned[cluster.rows["n-2"]]
        assert cluster.labels.row(cluster.rows["n-1"])["team"] == "blue"
        assert plane.questions.nodes.use("n-1").reserved == {"cpu": 2000}
        assert plane.engine._state.work[2].reason == "insufficient_resources"
        assert (await plane.submit([work("c")]))[0].id == 3

    scene(settings(tmp_path), before)
    scene(settings(tmp_path), after)


def test_nothing_is_accepted_while_the_store_fails_and_all_goes_on_when_it_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.control.loop.loop.RETRY_STORE_S", 0.01)

    async def play(plane: ControlPlane) -> None:
        write, broken = plane.store.write, asyncio.Event()

        def failing(batch: Batch, *committing: Any) -> None:
            if broken.is_set():
                raise StoreError("disk full")
            write(batch, *committing)

        monkeypatch.setattr(plane.store, "write", failing)
        broken.set()
        first = asyncio.create_task(plane.submit([work("a")]))
        await until(lambda: not plane.ready, "the plane notices")
        assert not first.done(), "nobody is told before it is durable"
        with pytest.raises(Unavailable, match="disk full"):
            await plane.submit([work("b")])
        broken.clear()
        assert (await first)[0].name == "a"
        assert plane.ready
        assert (await plane.submit([work("b")]))[0].name == "b"

    scene(settings(tmp_path), play)


def test_a_backend_that_fails_is_asked_again_with_the_same_key_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.control.backends.execution.FIRST_PAUSE_S", 0.01)

    async def play(plane: ControlPlane) -> None:
        backend = backend_of(plane, "sim")
        bind, asked = backend.bind, []

        async def unsteady(assignment: Assignment) -> None:
            asked.append(assignment.key)
            if len(asked) <= FAILURES_UNTIL_OPEN:
                raise ConnectionError("no route")
            await bind(assignment)

        monkeypatch.setattr(backend, "bind", unsteady)
        await plane.submit([work("a")])
        await until(lambda: plane.store.counts()["running"] == 1, "it runs in the end")
        assert asked == ["1.0.1"] * (FAILURES_UNTIL_OPEN + 1)
        kinds = [line["kind"] for line in plane.store.history(1) if line["kind"] != "bound"]
        assert kinds == ["submitted", "placed", "running"], "bound may fall into the same step as running"

    scene(settings(tmp_path), play)


def test_a_refused_task_is_tried_elsewhere_and_fails_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(plane: ControlPlane) -> None:
        async def refusing(assignment: Assignment) -> None:
            raise Refusal("no such image")

        monkeypatch.setattr(backend_of(plane, "sim"), "bind", refusing)
        await plane.submit([work("a")])
        await until(lambda: plane.store.counts()["failed"] == 1, "it fails")
        row = plane.store.workload(1)
        assert row is not None
        assert "no such image" in row["message"]

    scene(settings(tmp_path), play)


def test_a_registered_node_is_offline_when_silent_and_back_when_it_speaks(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await plane.nodes.register(Node.model_validate({"name": "agent", "capacity": {"cpu": 64}}))
        await plane.submit([work("a", backends={"allow": ["registered"]})])
        await until(lambda: plane.store.counts()["starting"] == 1, "placed")
        reply = await plane.nodes.heartbeat("agent", {"cpu": 500}, [])
        while not reply.run:
            reply = await plane.nodes.orders("agent", reply.version, 60.0)
        assert reply.run[0].key == "1.0.1"
        await until(lambda: plane.questions.nodes.use("agent").status == "offline", "silence is noticed")
        await plane.nodes.heartbeat("agent", None, [])
        await until(lambda: plane.questions.nodes.use("agent").status == "online", "it is back")
        with pytest.raises(NotFound, match="not registered"):
            await plane.nodes.heartbeat("stranger", None, [])
        with pytest.raises(Conflict, match="belongs to backend 'sim'"):
            await plane.nodes.register(Node.model_validate({"name": "n-1"}))

    scene(settings(tmp_path, loop={"heartbeat_timeout": 1}), play)


def test_history_is_followed_as_it_happens(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        seen: list[str] = []

        newest = await plane.history.newest()

        async def follow() -> None:
            async for lines in plane.history.follow(newest):
                seen.extend(line.row["kind"] for line in lines)
                if "running" in seen:
                    return

        follower = asyncio.create_task(follow())
        await plane.submit([work("a")])
        await asyncio.wait_for(follower, PATIENCE_S)
        assert [kind for kind in seen if kind not in ("node", "bound")] == ["submitted", "placed", "running"]

    scene(settings(tmp_path), play)
