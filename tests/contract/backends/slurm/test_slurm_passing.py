"""States of a real Slurm that pass by themselves: they are waited out, and count against nobody."""

import shutil
from pathlib import Path

import pytest
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.slurm.rig import Way, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Refusal
from dovetail.backends.slurm.driver import SlurmFault
from dovetail.model.event import BindFailed, NodeCordoned, TaskFinished, TaskWaiting
from dovetail.model.failure_cause import FailureCause

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]


@pytest.mark.parametrize("way", WAYS)
def test_a_job_waits_for_a_node_that_has_not_registered_since_the_controller_started(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    """Slurm calls such a node unavailable. It is only late: here it is stopped until the wait was reported."""
    node, controller = slurm_server.nodes["n1"], slurm_server.controller

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            with node.paused():
                controller.stop()
                controller.start(ready=slurm_server.controller_answers)
                work = rig.work(9501, 0.0, 5)
                await rig.backend.bind(work)
                said = await rig.reports.until(TaskWaiting, work.key)
                assert "waits in Slurm on n1: PENDING (ReqNodeNotAvail" in said.why
                assert "placed again if that takes 600 s" in said.why
            assert (await rig.finished(work.key)).exit_code == 5
            assert not rig.reports.of(BindFailed)
            rig.assert_run_once(work.key)

    run_async(scene)


def test_a_node_that_somebody_drained_is_refused_at_once_and_reported_as_it_is(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    """The task is placed elsewhere: nobody is to blame, and the next decision knows about the node."""

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path, nodes_interval_s=1000)) as rig:
            slurm_server.call("scontrol", "update", "nodename=n1", "state=drain", "reason=new disk")
            work = rig.work(9502)
            with pytest.raises(Refusal, match="ReqNodeNotAvail") as refused:
                await rig.backend.bind(work)
            assert refused.value.cause is FailureCause.BACKEND
            reports = rig.reports
            await reports.until_true(lambda: bool(reports.of(NodeCordoned)), "the drain")
            assert reports.of(NodeCordoned) == [NodeCordoned("n1", True, "DRAIN in Slurm: new disk")]
            rig.assert_never_run(work.key)

    try:
        run_async(scene)
    finally:
        slurm_server.call("scontrol", "update", "nodename=n1", "state=resume")


def test_a_job_that_a_killed_controller_has_forgotten_is_placed_again(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    """It wrote its state for the last time before the job was submitted."""
    state, before = slurm_server.folder / "state", tmp_path / "state"

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            slurm_server.restart_controller()
            shutil.copytree(state, before)
            with slurm_server.nodes["n1"].paused():
                work = rig.work(9503)
                await rig.backend.bind(work)
                slurm_server.controller.kill()
            shutil.rmtree(state)
            shutil.copytree(before, state)
            slurm_server.controller.start(ready=slurm_server.knows_its_nodes)
            failed = await rig.reports.until(BindFailed, work.key)
            assert (failed.cause, "nothing was started" in failed.reason) == (FailureCause.BACKEND, True)
            assert not rig.reports.about(TaskFinished, work.key)
            rig.assert_never_run(work.key)

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_a_bind_while_munge_restarts_is_repeated_not_refused(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    munged = slurm_server.munged

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            work = rig.work(9504, 0.0, 5)
            munged.stop()
            try:
                with pytest.raises(SlurmFault, match="authentication error"):
                    await rig.backend.bind(work)
            finally:
                munged.start(ready=(slurm_server.folder / "munge.sock").exists)
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 5
            rig.assert_run_once(work.key)

    run_async(scene)
