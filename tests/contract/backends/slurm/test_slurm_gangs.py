"""Gangs on a real Slurm: their tasks start together or not at all, whatever Slurm does with the jobs one by one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.contract.backends.batch_rig import bind_all, replicas, shell
from tests.contract.backends.conformance import Rig, run_async, started
from tests.contract.backends.slurm.rig import Way, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Assignment, Phase
from dovetail.model.command import GangStart
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]


def gang(workload: int, nodes: list[str], marks: Path, run_s: float = 0.0) -> list[Assignment]:
    """One task a node; each writes its number when it begins, and exits with it."""
    script = f"echo $DOVETAIL_REPLICA >> {marks}; echo I am $DOVETAIL_REPLICA; sleep {run_s}; exit $DOVETAIL_REPLICA"
    spec = shell(script, replicas=len(nodes), gang={"min": len(nodes)})
    works = replicas(workload, spec, dict(enumerate(nodes)))
    start = GangStart(works[0].key, len(works))
    return [Assignment(work.key, work.task, work.node, work.spec, gang=start) for work in works]


@contextmanager
def stranger_on(server: SlurmServer, node: str) -> Iterator[None]:
    """Somebody else's job has all of the node."""
    options = ("--parsable", f"--nodelist={node}", "--cpus-per-task=4", "--mem=10", "--output=/dev/null")
    job = server.call("sbatch", *options, "--wrap=sleep 1000").strip()
    try:
        yield
    finally:
        server.call("scancel", job)


def running_in_slurm(server: SlurmServer, key: str) -> bool:
    jobs = server.call("squeue", "--noheader", "--states=running", "--format=%j").split()
    return any(job.endswith(f"-{key}") for job in jobs)


async def held(rig: Rig, server: SlurmServer, work: Assignment) -> None:
    """Its job runs, and its command does not."""
    await rig.reports.until_true(lambda: running_in_slurm(server, work.key), f"the job of {work.key}")
    said = await rig.reports.until(TaskWaiting, work.key)
    assert said.why.startswith(f"waits on {work.node} for its gang: 1 of the 2 tasks that start together are ready")
    assert (await rig.backend.status(work.key)).phase is Phase.ACCEPTED
    assert not rig.reports.of(TaskStarted)


@pytest.mark.parametrize("way", WAYS)
def test_a_member_whose_node_is_free_waits_for_the_others(slurm_server: SlurmServer, tmp_path: Path, way: Way) -> None:
    marks = tmp_path / "marks"

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            works = gang(9601, ["n1", "n2"], marks)
            with stranger_on(slurm_server, "n2"):
                await bind_all(rig, works)
                await held(rig, slurm_server, works[0])
                said = await rig.reports.until(TaskWaiting, works[1].key)
                assert "waits in Slurm on n2: PENDING (Resources)" in said.why
                assert not marks.exists()
            ends = [await rig.finished(work.key) for work in works]
            assert [end.exit_code for end in ends] == [0, 1]
            assert [(await rig.backend.logs(work.key, 0, 100)).text for work in works] == ["I am 0\n", "I am 1\n"]
            assert sorted(marks.read_text().split()) == ["0", "1"]

    run_async(scene)


def test_members_on_one_node_are_one_array_and_start_together(slurm_server: SlurmServer, tmp_path: Path) -> None:
    marks = tmp_path / "marks"

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path, array_within_s=0.5)) as rig:
            works = gang(9602, ["n1", "n1", "n2"], marks)
            await bind_all(rig, works)
            assert [(await rig.finished(work.key)).exit_code for work in works] == [0, 1, 2]
            assert sorted(marks.read_text().split()) == ["0", "1", "2"]

    run_async(scene)


def test_if_one_member_is_stopped_before_the_start_none_begins(slurm_server: SlurmServer, tmp_path: Path) -> None:
    marks = tmp_path / "marks"

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            works = gang(9603, ["n1", "n2"], marks)
            with stranger_on(slurm_server, "n2"):
                await bind_all(rig, works)
                await held(rig, slurm_server, works[0])
                await rig.backend.stop(works[1].key, "evicted")
                assert (await rig.finished(works[1].key)).exit_code is None
                failed = await rig.reports.until(BindFailed, works[0].key)
            assert (failed.cause, failed.reason) == (
                FailureCause.BACKEND,
                "its gang did not start: task 1: evicted",
            )
            assert not marks.exists()
            assert not rig.reports.of(TaskStarted)

    run_async(scene)


def test_a_gang_that_cannot_start_in_time_goes_back_as_a_whole(slurm_server: SlurmServer, tmp_path: Path) -> None:
    marks = tmp_path / "marks"

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "cli", tmp_path, start_within_s=4)) as rig:
            works = gang(9604, ["n1", "n2"], marks)
            with stranger_on(slurm_server, "n2"):
                await bind_all(rig, works)
                failed = [await rig.reports.until(BindFailed, work.key) for work in works]
            assert {one.cause for one in failed} == {FailureCause.BACKEND}
            assert not marks.exists()
            assert not rig.reports.of(TaskFinished)

    run_async(scene)


def test_a_gang_starts_without_the_control_plane_and_is_adopted(slurm_server: SlurmServer, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    subject = slurm_subject(slurm_server, "rest", tmp_path)

    async def scene() -> None:
        works = gang(9605, ["n1", "n2"], marks, run_s=1.0)
        with stranger_on(slurm_server, "n2"):
            async with started(subject) as before:
                await bind_all(before, works)
                await held(before, slurm_server, works[0])
        async with asyncio.timeout(60):
            while not marks.exists() or len(marks.read_text().split()) < len(works):  # noqa: ASYNC110 - files tell nobody
                await asyncio.sleep(0.1)
        async with started(subject) as after:
            await after.backend.reconcile(works)
            assert [(await after.finished(work.key)).exit_code for work in works] == [0, 1]
        assert sorted(marks.read_text().split()) == ["0", "1"]

    run_async(scene)


def test_a_gang_that_loses_a_node_before_it_began_never_begins(slurm_server: SlurmServer, tmp_path: Path) -> None:
    marks, node = tmp_path / "marks", slurm_server.nodes["n1"]

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            works = gang(9606, ["n1", "n2"], marks)
            with stranger_on(slurm_server, "n2"):
                await bind_all(rig, works)
                await held(rig, slurm_server, works[0])
                node.kill()
                slurm_server.call("scontrol", "update", "nodename=n1", "state=down", "reason=its daemon died")
                failed = [await rig.reports.until(BindFailed, work.key) for work in works]
            assert "lost on n1 before it began" in failed[0].reason
            assert "its gang did not start: task 0: lost on n1" in failed[1].reason
            node.start(ready=lambda: True)
            slurm_server.call("scontrol", "update", "nodename=n1", "state=resume", check=False)
            await rig.reports.until_true(lambda: rig.reports.online("n1"), "n1 to be back")
            assert not marks.exists()

    try:
        run_async(scene)
    finally:
        if not node.alive:
            node.start(ready=lambda: True)
