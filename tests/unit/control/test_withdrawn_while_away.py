"""What a backend withdrew from its nodes while the control plane was down is gone after the restart; what people added
is not."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.patience import until
from tests.unit.control.test_plane import scene, settings, work

from dovetail.control.plane import ControlPlane
from dovetail.model.node import Node
from dovetail.model.workloads.selection import Taint

Play = Callable[[ControlPlane], Awaitable[None]]


def run(folder: Path, play: Play, **group: Any) -> None:
    sim = {"kind": "simulated", "groups": [{"count": 1, "prefix": "n", **group}], "forever": True}
    scene(settings(folder, backends={"sim": sim}), play)


def taint(key: str, value: str = "") -> Taint:
    return Taint.model_validate({"key": key, "value": value, "effect": "NoSchedule"})


def node_of(plane: ControlPlane) -> Node:
    return plane.engine._state.cluster.node("n-1")


async def nothing(plane: ControlPlane) -> None:
    """Only a start and an end."""


@pytest.mark.parametrize("restarts", [0, 2], ids=["at once", "after two more restarts"])
def test_its_labels_taints_and_capacity_are_as_the_backend_says_now(tmp_path: Path, restarts: int) -> None:
    before = {"labels": {"pool": "x", "zone": "a"}, "taints": [{"key": "full", "effect": "NoSchedule"}]}

    async def people_add(plane: ControlPlane) -> None:
        await plane.nodes.patch("n-1", {"owner": "ann"}, [taint("full"), taint("reserved")])

    async def after(plane: ControlPlane) -> None:
        node = node_of(plane)
        assert node.labels == {"zone": "b", "owner": "ann"}
        assert node.taints == [taint("reserved")]
        assert node.capacity.cpu == 4

    run(tmp_path, people_add, capacity={"cpu": 16}, **before)
    for _ in range(restarts):
        run(tmp_path, nothing, capacity={"cpu": 16}, **before)
    run(tmp_path, after, capacity={"cpu": 4}, labels={"zone": "b"})
    run(tmp_path, after, capacity={"cpu": 4}, labels={"zone": "b"})


def test_what_people_set_instead_of_its_label_stays_when_it_withdraws_that(tmp_path: Path) -> None:
    async def people_change(plane: ControlPlane) -> None:
        await plane.nodes.patch("n-1", {"pool": "mine"}, None)

    async def after(plane: ControlPlane) -> None:
        assert node_of(plane).labels == {"pool": "mine"}

    run(tmp_path, people_change, labels={"pool": "x"})
    run(tmp_path, after)


def test_work_that_a_withdrawn_label_kept_away_goes_there_after_the_restart(tmp_path: Path) -> None:
    wanted = work("w", constraints=[{"require": '!("pool" in node.labels)'}])

    async def before(plane: ControlPlane) -> None:
        await plane.submit([wanted])
        await until(lambda: plane.engine._state.work[1].reason != "", "it waits")

    async def after(plane: ControlPlane) -> None:
        await until(lambda: plane.store.counts()["running"] == 1, "it runs")

    run(tmp_path, before, labels={"pool": "x"})
    run(tmp_path, after)


def test_a_node_that_people_removed_and_its_backend_brings_back_is_remembered_too(tmp_path: Path) -> None:
    async def removed(plane: ControlPlane) -> None:
        await plane.nodes.remove("n-1", "away with it")

    async def after(plane: ControlPlane) -> None:
        assert node_of(plane).labels == {}

    run(tmp_path, removed, labels={"pool": "x"})
    run(tmp_path, nothing, labels={"pool": "x"})
    run(tmp_path, after)


def test_a_node_that_its_backend_does_not_name_any_more_takes_no_new_work(tmp_path: Path) -> None:
    async def gone(plane: ControlPlane) -> None:
        cluster = plane.engine._state.cluster
        await until(lambda: not cluster.status.online[cluster.rows["n-2"]], "it is offline")
        assert cluster.status.reason("n-2") == "backend sim does not name it now"
        assert cluster.status.online[cluster.rows["n-1"]]

    async def back(plane: ControlPlane) -> None:
        assert plane.questions.nodes.use("n-2").status == "online"

    run(tmp_path, nothing, count=2)
    run(tmp_path, gone, count=1)
    run(tmp_path, back, count=2)
