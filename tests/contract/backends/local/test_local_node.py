"""The node this machine is: its name, what it has and uses, and which of its run folders are kept."""

import os
import time
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.local.rig import local_subject, shell
from tests.contract.backends.running import run_to_end

from dovetail.backends.local.run_folder import LocalRunFolder
from dovetail.backends.local.settings import LocalSettings, node_name_of
from dovetail.backends.retention import SETTLE_S
from dovetail.backends.run_folder import prune
from dovetail.model.event import NodeJoined, NodeObserved
from dovetail.model.node import Node
from dovetail.model.text.strict import check_name
from dovetail.model.workloads.workload import WorkloadKind


def node_of(subject: Subject) -> Node:
    found: list[Node] = []

    async def scene() -> None:
        async with started(subject) as rig:
            found.extend(event.node for event in rig.reports.received if isinstance(event, NodeJoined))

    run_async(scene)
    assert len(found) == 1
    return found[0]


def test_the_node_is_measured_and_leaves_something_for_the_system(tmp_path: Path) -> None:
    node = node_of(local_subject(tmp_path, "rlimit", labels={"rack": "r1"}))
    assert (node.name, node.backend, node.kinds) == ("here", "local", [WorkloadKind.JOB])
    assert 0 < node.capacity.cpu < (os.cpu_count() or 1)
    assert node.capacity.memory > 0
    assert node.capacity.disk > 0
    assert node.labels.items() >= {"os": "linux", "rack": "r1", "limits": "rlimit"}.items()
    assert {"arch", "hostname"} <= set(node.labels)


def test_capacity_can_be_said_instead_of_measured(tmp_path: Path) -> None:
    said = {"cpu": 64, "memory": "1TiB", "disk": "2TiB", "slots": 500}
    node = node_of(local_subject(tmp_path, "rlimit", capacity=said))
    assert node.capacity.amounts() == {"cpu": 64000, "memory": 2**40, "disk": 2**41, "slots": 500}


def test_use_is_reported_in_amounts(tmp_path: Path) -> None:
    subject = local_subject(tmp_path, "rlimit", observe_interval_s="100ms")

    async def scene() -> None:
        async with started(subject) as rig:
            while not (seen := rig.reports.of(NodeObserved)):
                await subject.let_time_pass()
            assert seen[0].name == "here"
            assert set(seen[0].used) == {"cpu", "memory", "disk"}
            assert seen[0].used["memory"] > 2**20
            assert all(isinstance(amount, int) and amount >= 0 for amount in seen[0].used.values())

    run_async(scene)


@pytest.mark.parametrize(
    ("hostname", "name"),
    [
        ("web-1.example.com", "web-1.example.com"),
        ("10-0-0-7", "node-10-0-0-7"),
        ("my_host--x.", "my-host-x"),
        ("-..-", "node"),
        ("", "node"),
        ("bücher", "b-cher"),
        ("a" * 300, "a" * 100),
    ],
)
def test_any_hostname_makes_a_node_name(hostname: str, name: str) -> None:
    assert node_name_of(hostname) == name
    assert check_name(node_name_of(hostname))


@pytest.mark.parametrize(
    "wrong",
    [
        {"cgroup_parent": "../escape"},
        {"cgroup_parent": "/absolute"},
        {"cgroup_parent": ""},
        {"observe_interval_s": 0},
        {"grace_s": "-1s"},
        {"capacity": {"cpu": "many"}},
        {"folders": "x"},
        {"limits": "none"},
    ],
)
def test_wrong_settings_are_errors(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LocalSettings.model_validate(wrong)


def test_the_folder_of_the_settings_wins(tmp_path: Path) -> None:
    run_to_end(local_subject(tmp_path, "rlimit", folder=str(tmp_path / "elsewhere")), shell("true"))
    assert (tmp_path / "elsewhere/1.0.1/result.json").exists()


def test_old_and_surplus_finished_runs_are_removed_and_nothing_else(tmp_path: Path) -> None:
    subject, folder = local_subject(tmp_path, "rlimit"), tmp_path / "runs"
    for number in range(1, 6):
        run_to_end(subject, shell("true"), number)
        ended_at = time.time() - 1000 * number
        os.utime(folder / f"{number}.0.1/result.json", (ended_at, ended_at))
    (folder / "6.0.1").mkdir()  # ordered by nobody yet
    (folder / ".gone-9.0.1-1").mkdir()  # left by a prune that was killed
    now = time.time()
    assert prune(folder, LocalRunFolder.all_in(folder), 100, 4500, now) == 1
    unwatched = [run for run in LocalRunFolder.all_in(folder) if run.key != "4.0.1"]
    assert prune(folder, unwatched, 2, 1e9, now) == 1
    assert sorted(run.key for run in LocalRunFolder.all_in(folder)) == ["1.0.1", "2.0.1", "4.0.1", "6.0.1"]
    later = now - 1000 + SETTLE_S / 2
    assert prune(folder, LocalRunFolder.all_in(folder), 0, 0, later) == 2  # 2.0.1 and 4.0.1: 1.0.1 is too fresh
    assert (folder / "1.0.1").exists()


def test_folders_nested_deeper_than_python_can_follow_are_removed(tmp_path: Path) -> None:
    half_removed = tmp_path / ".gone-1.0.1-1"
    half_removed.mkdir()
    inside = os.open(half_removed, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=inside)
        deeper = os.open("d", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = deeper
    os.close(inside)
    prune(tmp_path, [], 0, 0, time.time())
    assert not half_removed.exists()


def test_output_of_a_removed_run_is_a_key_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="has been removed"):
        LocalRunFolder.read_output(tmp_path, "1.0.1", 0, 10)


def test_output_is_cut_between_characters_but_never_stuck(tmp_path: Path) -> None:
    run = tmp_path / "1.0.1"
    run.mkdir()
    (run / "order").touch()
    (run / "output.log").write_bytes("aé€".encode() + b"\xff" + "😀".encode()[:2])
    chunk = LocalRunFolder.read_output(tmp_path, "1.0.1", 0, 2)
    assert (chunk.text, chunk.next_offset, chunk.ended) == ("a", 1, False)
    assert LocalRunFolder.read_output(tmp_path, "1.0.1", 1, 100).text == "é€�"
    assert LocalRunFolder.read_output(tmp_path, "1.0.1", 7, 100).next_offset == 9
    (run / "result.json").write_text('{"exit_code": 0, "reason": ""}')
    assert LocalRunFolder.read_output(tmp_path, "1.0.1", 7, 100).ended
    assert LocalRunFolder.read_output(tmp_path, "1.0.1", 99, 100).ended
