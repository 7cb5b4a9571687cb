"""Snapshots, what-ifs and previews of a live server: they agree with what then really happens, and nothing waits."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.api.copies.workers import MOST_OF_A_CALLER, CopyDesk
from dovetail.client import Client, DovetailError
from dovetail.control.errors import Conflict, NotSupported
from dovetail.simulate.cases import CaseFile, SimulationCase, run_case
from dovetail.snapshots.file import read_snapshot

LONG = {"simulate": {"run_time": "10h"}}


def test_a_snapshot_holds_the_state_and_no_secrets(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        run = {
            "command": ["./train", "--token=hunter2"],
            "env": {"PASSWORD": "hunter2"},
            "simulate": {"run_time": "9h"},
        }
        client.submit(
            {"name": "runs", "replicas": 3, "resources": {"cpu": 2}, "run": run, "deadline": {"run_for": "9h"}}
        )
        client.submit({"name": "waits", "resources": {"cpu": 99}})
        client.cordon("node-4")
        wait_for(lambda: client.workload("runs")["state"] == "running")
        data = client.snapshot()
        assert b"hunter2" not in data
        found = read_snapshot(data, "state.json")
        assert abs(found.taken_at - time.time()) < 60
        assert [one.cordoned for one in found.nodes] == [False, False, False, True]
        works = {one.definition.name: one for one in found.workloads}
        assert len([task for task in works["runs"].tasks if task.state == "running"]) == 3
        assert works["runs"].definition.run.env == {"PASSWORD": ""}
        assert not works["waits"].tasks
        assert "workload_mix" in found.learned  # written down for the snapshot, not a minute later
        outcome = run_case(SimulationCase(CaseFile("state.json", data)))["outcome"]
        assert outcome["states"] == {"succeeded": 1, "pending": 1}


def test_what_a_what_if_says_of_a_removed_node_is_what_removing_it_does(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        names = [f"w-{number}" for number in range(11)]
        for place, name in enumerate(names):
            client.submit({"name": name, "resources": {"cpu": 2 + place % 2, "gpu": place % 2}, "run": LONG})
            wait_for(lambda name=name: client.workload(name)["state"] == "running")  # type: ignore[misc]
        before = {name: str(client.tasks(name)[0]["node"]) for name in names}
        gone = max(before.values(), key=list(before.values()).count)
        answer = client.what_if({"remove_nodes": [gone], "horizon": "10m"})
        moved = {one["name"]: one["to"] for one in answer["differences"]["moved"]["items"]}
        unplaced = {one["name"] for one in answer["differences"]["unplaced"]["items"]}
        assert moved.keys() | unplaced == {name for name in names if before[name] == gone}
        assert moved
        client.remove_node(gone)
        wait_for(lambda: all(client.tasks(name)[0]["state"] == "running" for name in moved))
        assert {name: client.tasks(name)[0]["node"] for name in moved} == moved
        assert {name for name in names if client.workload(name)["state"] == "pending"} == unplaced
        assert all(client.tasks(name)[0]["node"] == before[name] for name in names if name not in {*moved, *unplaced})


def test_mistakes_are_said_at_once(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        for body, words in (
            ({"remove_nodes": ["node-9"]}, "no node 'node-9'"),
            ({"add_nodes": [{"count": 2}]}, "needs either like"),
            ({"profile": "nobody"}, "unknown profile 'nobody'"),
            ({"cancel": ["nobody"]}, "no live workload 'nobody'"),
            ({"workloads": [{"name": "w", "queue": "nowhere"}]}, "nowhere"),
            ({"horizon": "2y"}, "horizon"),
        ):
            with pytest.raises(DovetailError, match=words) as caught:
                client.what_if(body)
            assert caught.value.status == 422


def test_a_caller_asks_one_thing_at_a_time_and_the_budget_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.api.copies.workers.BUDGET_S", 0.3)

    async def asked() -> None:
        desk = CopyDesk()
        asking = [asyncio.ensure_future(desk.ask("ada", _spin, 60.0)) for _ in range(MOST_OF_A_CALLER)]
        await asyncio.sleep(0)
        with pytest.raises(Conflict, match="wait for one"):
            await desk.ask("ada", json.dumps, [])
        for one in asking:
            with pytest.raises(NotSupported, match=r"took more than 0\.3 s"):
                await one
        assert await desk.ask("ada", json.dumps, [1]) == "[1]"

    asyncio.run(asked())


def _spin(seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass
