"""Replicas that are bound together are one array of Slurm's, and each is an attempt of its own all the same."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.batch_rig import bind_all, replicas, shell
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.slurm.rig import Way, over_a_bad_network, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Assignment, Phase
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]
COUNT = 'echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> "$LIST"; '


def job_of(folder: Path, work: Assignment) -> tuple[int, int | None]:
    """The number that Slurm gave it, and that of the element."""
    order = json.loads((folder / "runs" / work.key / "order.json").read_text())
    return order["job"], order["element"]


def counted(folder: Path, script: str, **fields: Any) -> Workload:
    """Leaves a line in `folder/starts` each time it is really started, as the rig's own work does."""
    return shell(f"{COUNT.replace('$LIST', str(folder / 'starts'))}{script}", **fields)


@pytest.mark.parametrize("way", WAYS)
def test_replicas_for_one_partition_are_one_array(slurm_server: SlurmServer, tmp_path: Path, way: Way) -> None:
    spec = counted(tmp_path, "echo $DOVETAIL_REPLICA of $DOVETAIL_REPLICAS; exit $DOVETAIL_REPLICA", replicas=6)

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path, place="slurm", array_within_s=1)) as rig:
            works = replicas(9301, spec, dict.fromkeys(range(6), "all"))
            await bind_all(rig, works)
            jobs = [job_of(tmp_path, work) for work in works]
            assert len({job for job, _ in jobs}) == 1
            assert [element for _, element in jobs] == list(range(6))
            for work in works:
                replica = work.task.replica
                finished = await rig.finished(work.key)
                assert finished.exit_code == replica
                assert ("COMPLETED" if replica == 0 else "FAILED (NonZeroExitCode)") in finished.reason
                assert (await rig.backend.logs(work.key, 0, 100)).text == f"{replica} of 6\n"
                rig.assert_run_once(work.key)
            assert f"ArrayJobId={jobs[0][0]} ArrayTaskId=5" in slurm_server.call("scontrol", "show", "jobs")

    run_async(scene)


def test_replicas_for_different_nodes_are_an_array_for_each_node(slurm_server: SlurmServer, tmp_path: Path) -> None:
    spec = counted(tmp_path, "echo $SLURMD_NODENAME", replicas=5)

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path, array_within_s=1)) as rig:
            works = replicas(9302, spec, {0: "n1", 1: "n2", 2: "n1", 3: "n2", 4: "n3"})
            await bind_all(rig, works)
            jobs = {work.task.replica: job_of(tmp_path, work) for work in works}
            assert jobs[0][0] == jobs[2][0] != jobs[1][0] == jobs[3][0]
            assert jobs[4][1] is None  # alone there: a plain job
            for work in works:
                assert (await rig.finished(work.key)).exit_code == 0
                assert (await rig.backend.logs(work.key, 0, 100)).text == f"{work.node}\n"
                rig.assert_run_once(work.key)

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_elements_are_stopped_one_by_one_whether_they_wait_or_run(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    """Each takes a whole node, so that one runs and the others wait."""
    spec = counted(tmp_path, "sleep 1000", replicas=4, resources={"cpu": 4})

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path, array_within_s=1)) as rig:
            works = replicas(9303, spec, dict.fromkeys(range(4), "n1"))
            await bind_all(rig, works)
            first, *waiting = works
            await rig.reports.until(TaskStarted, first.key)
            assert (await rig.backend.status(waiting[2].key)).phase is Phase.ACCEPTED
            await rig.backend.stop(waiting[2].key, "not this one")
            finished = await rig.finished(waiting[2].key)
            assert finished.exit_code is None
            assert "not this one" in finished.reason
            assert (await rig.backend.status(first.key)).phase is Phase.RUNNING
            await rig.backend.stop(first.key, "enough")
            assert (await rig.finished(first.key)).exit_code is None
            await rig.reports.until(TaskStarted, waiting[0].key)
            assert not rig.reports.about(TaskFinished, waiting[1].key)
            for work in waiting[:2]:
                await rig.backend.stop(work.key, "enough")
            for work in waiting[:2]:
                assert (await rig.finished(work.key)).exit_code is None
            for work in (first, waiting[0]):
                rig.assert_run_once(work.key)
            rig.assert_never_run(waiting[2].key)

    run_async(scene)


def test_an_array_whose_reply_was_lost_is_found_again_and_runs_once(slurm_server: SlurmServer, tmp_path: Path) -> None:
    spec = counted(tmp_path, "sleep 1; exit 4", replicas=3)

    async def scene() -> None:
        with over_a_bad_network(slurm_server, tmp_path, array_within_s=1) as subject:
            assert subject.cut_replies is not None
            async with started(subject) as rig:
                works = replicas(9304, spec, dict.fromkeys(range(3), "n2"))
                async with subject.cut_replies():
                    outcomes = await asyncio.gather(*(rig.backend.bind(work) for work in works), return_exceptions=True)
                assert all(isinstance(outcome, Exception) for outcome in outcomes)
                await asyncio.gather(*(rig.until_bound(work) for work in works))
                jobs = [job_of(tmp_path, work) for work in works]
                assert {job for job, _ in jobs} == {jobs[0][0]}
                assert [element for _, element in jobs] == [0, 1, 2]
                for work in works:
                    assert (await rig.finished(work.key)).exit_code == 4
                    rig.assert_run_once(work.key)

    run_async(scene)


def test_elements_are_found_again_after_a_restart(slurm_server: SlurmServer, tmp_path: Path) -> None:
    spec = counted(tmp_path, f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; exit 6", replicas=3)
    subject = slurm_subject(slurm_server, "rest", tmp_path, array_within_s=1)

    async def scene() -> None:
        works = replicas(9305, spec, dict.fromkeys(range(3), "n1"))
        async with started(subject) as before:
            await bind_all(before, works)
            assert len({job_of(tmp_path, work)[0] for work in works}) == 1
            await before.reports.until(TaskStarted, works[0].key)
        async with started(subject) as after:
            await after.backend.reconcile(works)
            (tmp_path / "go").touch()
            for work in works:
                assert (await after.finished(work.key)).exit_code == 6
                after.assert_run_once(work.key)

    run_async(scene)


def test_replicas_beyond_the_largest_array_are_jobs_by_themselves(slurm_server: SlurmServer, tmp_path: Path) -> None:
    spec = counted(tmp_path, "exit 7", replicas=5000)

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path, array_within_s=1)) as rig:
            works = replicas(9306, spec, {4000: "n1", 4001: "n1"})
            await bind_all(rig, works)
            assert [job_of(tmp_path, work)[1] for work in works] == [None, None]
            for work in works:
                assert (await rig.finished(work.key)).exit_code == 7

    run_async(scene)


def test_an_element_that_waits_too_long_goes_back_and_the_one_that_runs_stays(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    spec = counted(tmp_path, "sleep 1000", replicas=2, resources={"cpu": 4})

    async def scene() -> None:
        subject = slurm_subject(slurm_server, "rest", tmp_path, array_within_s=1, start_within_s=10)
        async with started(subject) as rig:
            works = replicas(9307, spec, dict.fromkeys(range(2), "n1"))
            await bind_all(rig, works)
            await rig.reports.until(TaskStarted, works[0].key)
            await rig.reports.until_true(lambda: bool(rig.reports.of(BindFailed)), "its way back")
            (failed,) = rig.reports.of(BindFailed)
            assert (failed.key, "PENDING (Resources)" in failed.reason) == (works[1].key, True)
            assert (await rig.backend.status(works[0].key)).phase is Phase.RUNNING
            await rig.backend.stop(works[0].key, "enough")
            await rig.finished(works[0].key)
            rig.assert_never_run(works[1].key)

    run_async(scene)


def test_somebody_elses_array_is_not_taken_for_ours(slurm_server: SlurmServer, tmp_path: Path) -> None:
    """One that waits and runs in part, under the very number that an attempt of ours is said to have."""

    async def scene() -> None:
        options = ("--parsable", "--array=0-3", "--nodelist=n1", "--cpus-per-task=4", "--mem=10", "--output=/dev/null")
        theirs = int(slurm_server.call("sbatch", *options, "--wrap=sleep 1000"))
        try:
            async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
                work = rig.assignment(9308, shell("sleep 1000"))
                run = tmp_path / "runs" / work.key
                run.mkdir()
                order = {"node": "n1", "asked": {}, "job": theirs, "element": 2}
                (run / "order.json").write_text(json.dumps(order))
                await rig.backend.reconcile([work])
                assert "nothing was started" in (await rig.reports.until(BindFailed, work.key)).reason
            assert slurm_server.call("squeue", "--noheader", "--array", f"--jobs={theirs}").count(f"{theirs}_") == 4
        finally:
            slurm_server.call("scancel", str(theirs))

    run_async(scene)
