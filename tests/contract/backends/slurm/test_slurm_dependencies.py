"""Work that waits for jobs which Slurm has from elsewhere: it starts after them, or fails when they do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.contract.backends.batch_rig import shell
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.slurm.rig import Way, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Phase, Refusal
from dovetail.model.event import BindFailed, TaskStarted

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]


@contextmanager
def job_of_a_stranger(server: SlurmServer, script: str) -> Iterator[int]:
    printed = server.call("sbatch", "--parsable", "--output=/dev/null", "--nodelist=n2", "--mem=10", f"--wrap={script}")
    try:
        yield int(printed)
    finally:
        server.call("scancel", printed.strip())


@pytest.mark.parametrize("way", WAYS)
def test_work_waits_in_slurm_for_a_job_that_it_depends_on_however_long_that_takes(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    subject = slurm_subject(slurm_server, way, tmp_path, start_within_s=8)

    async def scene() -> None:
        with job_of_a_stranger(slurm_server, f"until [ -e {tmp_path}/go ]; do sleep 0.1; done") as theirs:
            async with started(subject) as rig:
                work = rig.assignment(9401, shell("exit 3", labels={"slurm/dependency": f"afterok:{theirs}"}))
                await rig.backend.bind(work)
                longer = rig.assignment(9402, shell("sleep 10"))  # than the patience with what waits for room
                await rig.backend.bind(longer)
                await rig.finished(longer.key)
                status = await rig.backend.status(work.key)
                assert (status.phase, status.reason) == (Phase.ACCEPTED, "PENDING (Dependency)")
                assert not rig.reports.of(BindFailed)
                (tmp_path / "go").touch()
                assert (await rig.finished(work.key)).exit_code == 3

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_work_that_depends_on_a_job_that_fails_has_failed_itself(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    async def scene() -> None:
        with job_of_a_stranger(slurm_server, f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; exit 1") as theirs:
            async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
                work = rig.assignment(9403, shell("true", labels={"slurm/dependency": f"afterok:{theirs}"}))
                await rig.backend.bind(work)
                (tmp_path / "go").touch()
                finished = await rig.finished(work.key)
                assert finished.exit_code == 126
                assert finished.reason.startswith("PENDING (DependencyNeverSatisfied): it could not be started")
                assert not rig.reports.about(TaskStarted, work.key)
                rig.assert_never_run(work.key)
            left = slurm_server.call("squeue", "--noheader", f"--name={work.key}", check=False)
            assert not left.strip()

    run_async(scene)


def test_a_dependency_that_makes_no_sense_is_refused_in_slurms_words(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            work = rig.assignment(9404, shell("true", labels={"slurm/dependency": "after lunch"}))
            with pytest.raises(Refusal, match="dependency"):
                await rig.backend.bind(work)

    run_async(scene)
