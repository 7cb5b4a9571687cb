"""What the Slurm backend says of nodes is what Slurm says of them: labels, GPUs, others' jobs, drains, reservations."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.contract.backends.batch_rig import shell
from tests.contract.backends.conformance import PATIENCE_S, Rig, run_async, started
from tests.contract.backends.slurm.rig import Way, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.batch import watched
from dovetail.backends.contract import Refusal
from dovetail.model.device import Gpus
from dovetail.model.event import BindFailed, NodeCordoned, TaskFinished, TaskStarted
from dovetail.model.node import Node

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]


def node_of(rig: Rig, name: str) -> Node:
    return next(node for node in rig.reports.nodes if node.name == name)


def cordons(rig: Rig, name: str) -> list[NodeCordoned]:
    return [event for event in rig.reports.of(NodeCordoned) if event.name == name]


@contextmanager
def job_of_a_stranger(server: SlurmServer, *options: str) -> Iterator[int]:
    printed = server.call("sbatch", "--parsable", "--output=/dev/null", *options, "--wrap=sleep 1000")
    try:
        yield int(printed)
    finally:
        server.call("scancel", printed.strip())


async def until(rig: Rig, holds: Callable[[], bool], what: str) -> None:
    await rig.reports.until_true(holds, what)


@pytest.fixture(autouse=True)
def _nobody_holds_a_node(slurm_server: SlurmServer) -> None:
    """Jobs of the test before are gone, and every node answers."""
    until_s = time.monotonic() + PATIENCE_S
    while set(slurm_server.call("sinfo", "--noheader", "--format=%T").split()) != {"idle"}:
        shown = [slurm_server.call("sinfo", "--Node", "--long"), slurm_server.call("squeue")]
        assert time.monotonic() < until_s, "\n".join([*shown, slurm_server.controller.log_tail])
        time.sleep(0.1)


@pytest.mark.parametrize("way", WAYS)
def test_nodes_carry_features_partitions_gpus_and_their_place_in_the_network(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path, labels={"site": "here"})) as rig:
            assert [node.name for node in rig.reports.nodes] == ["n1", "n2", "n3", "n4"]
            fast, gpu = node_of(rig, "n1"), node_of(rig, "n3")
            assert fast.labels["slurm.feature/fast"] == fast.labels["slurm.partition/all"] == "true"
            assert (fast.labels["leaf"], fast.labels["spine"], fast.labels["site"]) == ("leaf1", "spine", "here")
            assert "slurm.feature/fast" not in gpu.labels
            assert gpu.labels["slurm.partition/gpu"] == "true"
            assert gpu.gpus == [Gpus(count=2, model="a100")]
            amounts = fast.capacity.amounts()
            assert (amounts["cpu"], amounts["memory"], amounts["slots"]) == (4000, 4000 * 2**20, 4)

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_what_others_hold_is_not_offered_and_what_ours_hold_is(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            spec = shell("sleep 1000", resources={"cpu": 1, "memory": "500MiB"})
            work = rig.assignment(9001, spec)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            with job_of_a_stranger(slurm_server, "--nodelist=n1", "--cpus-per-task=2", "--mem=1000"):
                await until(rig, lambda: node_of(rig, "n1").capacity.cpu == 2, "two of four CPUs")
                assert node_of(rig, "n1").capacity.memory == 3000 * 2**20
                assert node_of(rig, "n1").capacity.slots == 2
            await until(rig, lambda: node_of(rig, "n1").capacity.cpu == 4, "all four CPUs")
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_gpus_that_others_hold_are_not_offered(slurm_server: SlurmServer, tmp_path: Path, way: Way) -> None:
    async def scene() -> None:
        with job_of_a_stranger(slurm_server, "--nodelist=n4", "--mem=10", "--gres=gpu:1"):
            async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
                await until(rig, lambda: node_of(rig, "n4").gpus == [Gpus(count=1, model="a100")], "one GPU less")
                assert node_of(rig, "n3").capacity.gpu == 2

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_a_drained_node_is_closed_until_it_is_resumed_even_over_a_restart(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    subject = slurm_subject(slurm_server, way, tmp_path)

    async def scene() -> None:
        async with started(subject) as rig:
            slurm_server.call("scontrol", "update", "nodename=n2", "state=drain", "reason=a bad fan")
            await until(rig, lambda: bool(cordons(rig, "n2")), "n2 to be closed")
            assert cordons(rig, "n2") == [NodeCordoned("n2", True, "DRAIN in Slurm: a bad fan")]
        slurm_server.call("scontrol", "update", "nodename=n2", "state=resume")
        async with started(subject) as after:
            assert cordons(after, "n2") == [NodeCordoned("n2", False, "open in Slurm again")]

    try:
        run_async(scene)
    finally:
        slurm_server.call("scontrol", "update", "nodename=n2", "state=resume", check=False)


@pytest.mark.parametrize("way", WAYS)
def test_a_reserved_node_is_closed_and_before_that_takes_only_what_ends_in_time(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    now = ["starttime=now", "duration=10", "nodes=n2", "flags=maint,ignore_jobs", "users=root"]
    later = ["starttime=now+30minutes", "duration=10", "nodes=n1", "flags=maint,ignore_jobs", "users=root"]

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            assert cordons(rig, "n2") == [NodeCordoned("n2", True, "reserved in Slurm: closed-now")]
            endless = rig.assignment(9003, shell("true"))
            with pytest.raises(Refusal, match="closed-later"):
                await rig.backend.bind(endless)
            short = rig.assignment(9004, shell("true", deadline={"run_for": "5m"}))
            await rig.backend.bind(short)
            assert (await rig.finished(short.key)).exit_code == 0

    try:
        slurm_server.call("scontrol", "create", "reservation", "reservationname=closed-now", *now)
        slurm_server.call("scontrol", "create", "reservation", "reservationname=closed-later", *later)
        run_async(scene)
    finally:
        for name in ("closed-now", "closed-later"):
            slurm_server.call("scontrol", "delete", f"reservationname={name}", check=False)


def test_only_the_partitions_that_are_named_are_offered(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        subject = slurm_subject(slurm_server, "rest", tmp_path, partitions=["gpu"], node_prefix="hpc-")
        async with started(subject) as rig:
            assert [node.name for node in rig.reports.nodes] == ["hpc-n3", "hpc-n4"]
            work = rig.assignment(9005, shell("echo $SLURM_JOB_PARTITION on $SLURMD_NODENAME"))
            await rig.backend.bind(work)
            await rig.finished(work.key)
            assert (await rig.backend.logs(work.key, 0, 100)).text == "gpu on n3\n"
            long = rig.assignment(9006, shell("true", deadline={"run_for": "25h"}))
            with pytest.raises(Refusal, match="at most 1440"):
                await rig.backend.bind(long)

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_where_slurm_chooses_every_partition_is_a_node(slurm_server: SlurmServer, tmp_path: Path, way: Way) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path, place="slurm")) as rig:
            assert {node.name: node.capacity.cpu for node in rig.reports.nodes} == {"all": 16, "gpu": 8}
            assert node_of(rig, "gpu").gpus == [Gpus(count=4, model="a100")]
            script = f"echo $SLURMD_NODENAME; until [ -e {tmp_path}/go ]; do sleep 0.1; done"
            works = [rig.assignment(9010 + number, shell(script, resources={"cpu": 4})) for number in range(4)]
            for work in works:
                await rig.backend.bind(work)
            for work in works:
                await rig.reports.until(TaskStarted, work.key)
            (tmp_path / "go").touch()
            for work in works:
                assert (await rig.finished(work.key)).exit_code == 0
            chosen = {(await rig.backend.logs(work.key, 0, 100)).text.strip() for work in works}
            assert chosen == {"n1", "n2", "n3", "n4"}
            wide = rig.assignment(9020, shell("true", resources={"cpu": 5}))
            with pytest.raises(Refusal):
                await rig.backend.bind(wide)

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_waits_too_long_on_its_node_goes_back_without_having_run(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    subject = slurm_subject(slurm_server, way, tmp_path, start_within_s=1)

    async def scene() -> None:
        async with started(subject) as rig:
            with job_of_a_stranger(slurm_server, "--nodelist=n1", "--cpus-per-task=4", "--mem=10"):
                await until(rig, lambda: node_of(rig, "n1").capacity.cpu == 0, "n1 to be full")
                work = rig.work(9030)
                await rig.backend.bind(work)
                await until(rig, lambda: bool(rig.reports.of(BindFailed)), "its way back")
                failed = rig.reports.of(BindFailed)[0]
                assert (failed.key, "PENDING (" in failed.reason) == (work.key, True)  # a busy Slurm says why later
            assert not rig.reports.about(TaskFinished, work.key)
            with pytest.raises(Refusal):
                await rig.backend.bind(work)
            rig.assert_never_run(work.key)

    run_async(scene)


def test_a_job_that_waits_goes_back_when_slurm_would_no_longer_start_it(
    slurm_server: SlurmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "HOPELESS_FOR_S", 0.5)

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            with job_of_a_stranger(slurm_server, "--nodelist=n1", "--cpus-per-task=4", "--mem=10"):
                await until(rig, lambda: node_of(rig, "n1").capacity.cpu == 0, "n1 to be full")
                work = rig.work(9031)
                await rig.backend.bind(work)
                slurm_server.call("scontrol", "update", "partitionname=all", "state=down")
                await until(rig, lambda: bool(rig.reports.of(BindFailed)), "its way back")
                failed = rig.reports.of(BindFailed)[0]
                assert (failed.key, "PENDING (PartitionDown)" in failed.reason) == (work.key, True)
            rig.assert_never_run(work.key)

    try:
        run_async(scene)
    finally:
        slurm_server.call("scontrol", "update", "partitionname=all", "state=up")
