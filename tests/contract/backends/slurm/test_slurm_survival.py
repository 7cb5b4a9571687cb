"""What goes wrong inside a real Slurm: nodes fail, jobs are begun anew or forgotten, controllers restart."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.contract.backends.conformance import Rig, run_async, started
from tests.contract.backends.slurm.rig import Way, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Assignment
from dovetail.model.event import NodeHealthChanged, TaskStarted

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]


async def running(rig: Rig, workload: int, run_s: float = 1000.0) -> Assignment:
    work = rig.work(workload, run_s, 5)
    await rig.backend.bind(work)
    await rig.reports.until(TaskStarted, work.key)
    times_run = rig.subject.times_run
    assert times_run is not None
    # It is told when its script has claimed it, a moment before the command begins.
    await rig.reports.until_true(lambda: times_run(work.key) == 1, "the command itself")
    return work


def health(rig: Rig) -> list[bool]:
    return [event.online for event in rig.reports.of(NodeHealthChanged) if event.name == "n1"]


def set_job(run: Path, job: int | None) -> int:
    """Makes the backend believe that Slurm gave it another number; the true one."""
    order = json.loads((run / "order.json").read_text())
    (run / "order.json").write_text(json.dumps({**order, "job": job}))
    return int(order["job"])


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_outlives_its_node_is_ended_before_it_is_reported_lost(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    """Split brain: the node's daemon is killed and Slurm gives the node up, while the command runs on."""
    subject = slurm_subject(slurm_server, way, tmp_path)
    assert subject.runs_now is not None
    node = slurm_server.nodes["n1"]

    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, 9201)
            node.kill()
            slurm_server.call("scontrol", "update", "nodename=n1", "state=down", "reason=its daemon died")
            finished = await rig.finished(work.key)
            assert subject.runs_now is not None
            assert not subject.runs_now(work.key)
            assert finished.exit_code is None
            assert "what ran there has ended" in finished.reason
            await rig.reports.until_true(lambda: health(rig)[-1:] == [False], "n1 to be gone")
            node.start(ready=lambda: True)
            slurm_server.call("scontrol", "update", "nodename=n1", "state=resume", check=False)
            await rig.reports.until_true(lambda: health(rig)[-1:] == [True], "n1 to be back")
            again = await running(rig, 9202)
            await rig.backend.stop(again.key, "enough")
            await rig.finished(again.key)
            for each in (work, again):
                rig.assert_run_once(each.key)

    try:
        run_async(scene)
    finally:
        if not node.alive:
            node.start(ready=lambda: True)


def test_a_job_that_slurm_begins_anew_does_not_run_again(slurm_server: SlurmServer, tmp_path: Path) -> None:
    """slurmrestd cannot submit a job that is never requeued; somebody requeues it."""

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            work = await running(rig, 9203)
            job = (tmp_path / "runs" / work.key / "claim" / "by").read_text().split()[0]
            slurm_server.call("scontrol", "requeue", job)
            finished = await rig.finished(work.key)
            assert finished.exit_code is None
            assert "Slurm began the job anew" in finished.reason
            shown = ("scontrol", "show", "job", job)
            await rig.reports.until_true(lambda: "JobState=CANCELLED" in slurm_server.call(*shown), "its end in Slurm")
            rig.assert_run_once(work.key)

    run_async(scene)


def test_a_job_that_slurm_has_forgotten_is_known_by_what_it_left(slurm_server: SlurmServer, tmp_path: Path) -> None:
    subject = slurm_subject(slurm_server, "cli", tmp_path)

    async def scene() -> None:
        async with started(subject) as before:
            work = before.work(9204, 0.0, 5)
            await before.backend.bind(work)
            await before.reports.until_true((tmp_path / "runs" / work.key / "result").exists, "its end")
        run = tmp_path / "runs" / work.key
        (run / "end.json").unlink(missing_ok=True)
        set_job(run, 4_000_000)
        (run / "claim" / "by").write_text("4000000 0 n1\n")
        async with started(subject) as after:
            await after.backend.reconcile([work])
            finished = await after.finished(work.key)
            assert (finished.exit_code, finished.reason) == (5, "exited with status 5")

    run_async(scene)


def test_a_run_that_slurm_has_forgotten_is_told_to_stop_by_its_folder(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    subject = slurm_subject(slurm_server, "rest", tmp_path)
    assert subject.runs_now is not None

    async def scene() -> None:
        async with started(subject) as before:
            work = await running(before, 9205)
        run = tmp_path / "runs" / work.key
        set_job(run, 4_000_001)
        (run / "claim" / "by").write_text("4000001 0 n1\n")
        async with started(subject) as after:
            finished = await after.finished(work.key)
            assert finished.exit_code is None
            assert "Slurm has no job 4000001 any more; what ran there has ended" in finished.reason
            assert subject.runs_now is not None
            assert not subject.runs_now(work.key)

    run_async(scene)


def test_of_two_jobs_for_one_key_one_runs_and_it_is_the_one_that_counts(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    """A submission whose reply was lost arrived after all, later than anybody thought: here it is made by hand."""
    subject = slurm_subject(slurm_server, "rest", tmp_path)

    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, 9206, 2.0)
        run = tmp_path / "runs" / work.key
        true_job = set_job(run, None)
        script = slurm_server.call("scontrol", "write", "batch_script", str(true_job), "-")
        second = run / "second.sh"
        second.write_text(script)
        options = ("--nodelist=n1", "--mem=10", f"--output={run}/second.log")
        surplus = int(slurm_server.call("sbatch", "--parsable", *options, str(second)))
        set_job_to = json.loads((run / "order.json").read_text()) | {"job": surplus}
        (run / "order.json").write_text(json.dumps(set_job_to))
        async with started(subject) as after:
            assert (await after.finished(work.key)).exit_code == 5
            after.assert_run_once(work.key)
            assert json.loads((run / "order.json").read_text())["job"] == true_job

    run_async(scene)


def test_a_controller_that_restarts_costs_nothing(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "cli", tmp_path)) as rig:
            work = await running(rig, 9207, 2.0)
            await asyncio.to_thread(slurm_server.restart_controller)
            assert (await rig.finished(work.key)).exit_code == 5
            rig.assert_run_once(work.key)

    run_async(scene)
