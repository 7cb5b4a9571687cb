"""Limits are really enforced, and what enforces them is said."""

import sys
from pathlib import Path

import pytest
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.local.rig import local_subject, shell, wait_until
from tests.contract.backends.running import run_to_end

from dovetail.backends.local.enforcement import Enforcement, cgroup_mounts, find_enforcement
from dovetail.backends.local.order import Surroundings, write_order
from dovetail.backends.local.run_folder import LocalRunFolder
from dovetail.model.event import NodeJoined, TaskFinished
from dovetail.model.resources import Limits

HUNGRY = "x = bytearray(400 * 2**20); print('got it')"


@pytest.fixture(scope="module")
def cgroups(cgroup_parent: str) -> Enforcement:
    found = find_enforcement(cgroup_parent, "probe")
    if found.kind == "rlimit":
        pytest.skip("no writable cgroups")
    return found


@pytest.fixture
def subject(tmp_path: Path, cgroups: Enforcement, cgroup_parent: str) -> Subject:
    return local_subject(tmp_path, "auto", cgroup_parent)


@pytest.fixture
def without_cgroups(tmp_path: Path) -> Subject:
    return local_subject(tmp_path, "rlimit")


def test_a_command_over_its_memory_limit_is_killed_and_the_reason_names_the_limit(subject: Subject) -> None:
    spec = shell("", run={"command": [sys.executable, "-c", HUNGRY]}, limits={"memory": "64MiB"})
    finished, text = run_to_end(subject, spec)
    assert finished.exit_code == 137
    assert finished.reason == "killed: used more than its memory limit of 64MiB; raise limits.memory, or use less"
    assert "got it" not in text


def test_the_reason_names_the_limit_also_when_a_child_of_the_command_was_killed(subject: Subject) -> None:
    spec = shell(f'{sys.executable} -c "{HUNGRY}"; exit 5', limits={"memory": "64MiB"})
    finished, _ = run_to_end(subject, spec)
    assert finished.exit_code in (5, 137)  # cgroup v2 ends the whole group together
    assert "memory limit of 64MiB" in finished.reason


def test_asking_for_memory_does_not_limit_it(subject: Subject) -> None:
    spec = shell("", run={"command": [sys.executable, "-c", HUNGRY]}, resources={"memory": "64MiB"})
    assert run_to_end(subject, spec)[1] == "got it\n"


def test_the_processor_limit_is_in_force_where_the_command_runs(subject: Subject, cgroups: Enforcement) -> None:
    name, value = ("cpu.max", "150000 100000") if cgroups.kind == "cgroup2" else ("cpu.cfs_quota_us", "150000")
    script = f"cat $(find /sys/fs/cgroup -path '*/1.0.1/{name}' 2>/dev/null); cat /proc/self/cgroup"
    _, text = run_to_end(subject, shell(script, limits={"cpu": "1500m"}))
    assert value in text.splitlines()
    assert "/1.0.1" in text


def test_the_cgroup_of_an_attempt_is_removed_after_it(subject: Subject, tmp_path: Path, cgroup_parent: str) -> None:
    run_to_end(subject, shell("true", limits={"cpu": 1, "memory": "64MiB"}), workload=4711)
    assert "cgroup=" in (tmp_path / "runs/4711.0.1/order").read_text()
    left = [path for root in Path("/sys/fs/cgroup").glob(f"**/{cgroup_parent}") for path in root.glob("*/4711.0.1")]
    wait_until(lambda: not any(path.exists() for path in left), "the cgroups are removed")


def test_without_cgroups_memory_is_limited_by_rlimit(without_cgroups: Subject) -> None:
    spec = shell("", run={"command": [sys.executable, "-c", HUNGRY]}, limits={"memory": "300MiB"})
    finished, text = run_to_end(without_cgroups, spec)
    assert finished.exit_code == 1
    assert "MemoryError" in text


def test_the_node_says_what_enforces_limits(subject: Subject, without_cgroups: Subject) -> None:
    async def label(which: Subject) -> str:
        async with started(which) as rig:
            return next(event.node.labels["limits"] for event in rig.reports.received if isinstance(event, NodeJoined))

    async def scene() -> None:
        assert await label(subject) in ("cgroup1", "cgroup2")
        assert await label(without_cgroups) == "rlimit"

    run_async(scene)


def test_limits_that_cannot_be_applied_keep_the_command_from_running(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.work(1)
            broken = Enforcement("cgroup1", tmp_path / "no/memory", tmp_path / "no/cpu")
            run = LocalRunFolder(tmp_path / "runs", work.key)
            run.order(write_order(work, run.path, Surroundings(broken, 1.0)))
            await rig.backend.bind(work)
            finished = await rig.reports.until(TaskFinished, work.key)
            assert finished.exit_code == 126
            assert finished.reason.startswith("its limits could not be applied, so it was not started")
            assert subject.times_run
            assert subject.times_run(work.key) == 0

    run_async(scene)


def test_a_plan_for_cgroup_v2_writes_memory_swap_and_cpu_in_one_cgroup(tmp_path: Path) -> None:
    (tmp_path / "memory.swap.max").touch()
    plan = Enforcement("cgroup2", tmp_path, tmp_path).orders("1.0.1", Limits.model_validate({"cpu": 2, "memory": 1024}))
    assert plan == [
        ("memory", "1KiB"),
        ("cgroup", f"{tmp_path}/1.0.1"),
        ("write", f"{tmp_path}/1.0.1/memory.max=1024"),
        ("write", f"{tmp_path}/1.0.1/memory.oom.group=1"),
        ("write", f"{tmp_path}/1.0.1/memory.swap.max=0"),
        ("oom", f"{tmp_path}/1.0.1/memory.events"),
        ("write", f"{tmp_path}/1.0.1/cpu.max=200000 100000"),
    ]


def test_mounts_are_read_from_the_kernel_and_not_guessed(tmp_path: Path) -> None:
    mountinfo = (
        "25 30 0:22 / /proc rw - proc proc rw\n"
        "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
        "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    )
    mounts = cgroup_mounts(mountinfo)
    assert mounts["unified"] == Path("/sys/fs/cgroup/unified")
    assert mounts["cpu"] == Path("/sys/fs/cgroup/cpu,cpuacct")
    assert mounts["memory"] == Path("/sys/fs/cgroup/memory")
    nowhere = f"33 23 0:29 / {tmp_path}/none rw - cgroup cgroup rw,memory,cpu\n"
    assert find_enforcement("x", "y", nowhere).kind == "rlimit"
