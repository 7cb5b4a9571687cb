"""Jobs on a real Slurm: what commands see, the GPUs they are given, how they end, and what Slurm's own words become."""

import os
import pwd
from pathlib import Path

import pytest
from tests.contract.backends.batch_rig import shell
from tests.contract.backends.conformance import Rig, run_async, started
from tests.contract.backends.slurm.rig import Way, settings_for, slurm_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Assignment, Phase
from dovetail.backends.slurm.backend import SlurmBackend
from dovetail.backends.slurm.driver import SlurmFault
from dovetail.model.command import attempt_key
from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: list[Way] = ["rest", "cli"]
HOME = pwd.getpwuid(os.getuid()).pw_dir
SHOW = 'printf "<%s>" "$@"; printf "[%s]" "$ODD"; pwd; printf %s "$HOME"'


async def run_to_end(rig: Rig, workload: int, spec: Workload) -> tuple[TaskFinished, str]:
    work = rig.assignment(workload, spec)
    await rig.backend.bind(work)
    finished = await rig.finished(work.key)
    return finished, (await rig.backend.logs(work.key, 0, 100_000)).text


@pytest.mark.parametrize("way", WAYS)
def test_a_command_gets_its_words_variables_and_folder_as_they_were_written(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    odd = ["a b", "it's", '"$HOME" `id` \\', "two\nlines\r\n", "#SBATCH --hold", "grüße", "", "-n", "tab\there!"]
    spec = Workload.model_validate(
        {
            "name": "odd",
            "run": {
                "command": ["/bin/sh", "-c", SHOW, "sh", *odd],
                "env": {"ODD": "x'y\n$z%j"},
                "workdir": "..",
            },
        }
    )

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            finished, text = await run_to_end(rig, 9101, spec)
            assert finished.exit_code == 0, text
            assert text == "".join(f"<{word}>" for word in odd) + f"[x'y\n$z%j]{tmp_path}/runs/9101.0.1\n{HOME}"

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_tasks_on_one_node_are_given_different_gpus_of_the_model_they_asked_for(
    slurm_server: SlurmServer, tmp_path: Path, way: Way
) -> None:
    spec = shell('echo "gpu $CUDA_VISIBLE_DEVICES"; sleep 1', resources={"gpu": 1, "gpu_model": ["a100"]})

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            tasks = [TaskId(9102, replica) for replica in range(2)]
            works = [Assignment(attempt_key(task, 1), task, "n3", spec, (task.replica,)) for task in tasks]
            for work in works:
                await rig.backend.bind(work)
            for work in works:
                assert (await rig.finished(work.key)).exit_code == 0
            assert {(await rig.backend.logs(work.key, 0, 100)).text for work in works} == {"gpu 0\n", "gpu 1\n"}

    run_async(scene)


@pytest.mark.parametrize("way", WAYS)
def test_ends_are_told_in_slurms_words(slurm_server: SlurmServer, tmp_path: Path, way: Way) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, way, tmp_path)) as rig:
            for number, script, exit_code, words in (
                (9110, "exit 3", 3, "FAILED (NonZeroExitCode): exited with status 3"),
                (9111, "true", 0, "COMPLETED: exited with status 0"),
                (9112, "kill -KILL $$", 137, "killed by signal 9"),
            ):
                finished, _ = await run_to_end(rig, number, shell(script))
                assert finished.exit_code == exit_code
                assert words in finished.reason
            missing = Workload.model_validate({"name": "none", "run": {"command": ["no-such-program"]}})
            finished, text = await run_to_end(rig, 9113, missing)
            assert (finished.exit_code, "no-such-program: command not found" in text) == (127, True)
            nowhere = Workload.model_validate({"name": "lost", "run": {"command": ["true"], "workdir": "/nope"}})
            finished, text = await run_to_end(rig, 9114, nowhere)
            assert (finished.exit_code, "/nope" in text) == (126, True)
            limited = shell("sleep 100", deadline={"run_for": "1s"})
            finished, _ = await run_to_end(rig, 9115, limited)
            assert (finished.exit_code, "longer than its time limit" in finished.reason) == (124, True)

    run_async(scene)


def test_a_job_that_somebody_cancels_in_slurm_is_not_one_that_failed(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            work = rig.work(9120, 1000)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            job = (tmp_path / "runs" / work.key / "claim" / "by").read_text().split()[0]
            slurm_server.call("scancel", job)
            finished = await rig.finished(work.key)
            assert finished.exit_code is None
            assert "CANCELLED: by somebody in Slurm" in finished.reason

    run_async(scene)


def test_a_job_whose_folder_its_node_cannot_see_says_so(slurm_server: SlurmServer, tmp_path: Path) -> None:
    """As where the folder is not shared: it is gone when the job starts."""

    async def scene() -> None:
        async with started(slurm_subject(slurm_server, "rest", tmp_path)) as rig:
            blocker = rig.assignment(9121, shell("sleep 1000", resources={"cpu": 4}))
            await rig.backend.bind(blocker)
            await rig.reports.until(TaskStarted, blocker.key)
            work = rig.work(9122)
            await rig.backend.bind(work)
            assert (await rig.backend.status(work.key)).phase is Phase.ACCEPTED
            assert "PENDING" in (await rig.backend.status(work.key)).reason
            (tmp_path / "runs" / work.key).rename(tmp_path / "elsewhere")
            await rig.backend.stop(blocker.key, "enough")
            finished = await rig.finished(work.key)
            assert (finished.exit_code, "file system which the nodes share" in finished.reason) == (126, True)
            rig.assert_never_run(work.key)

    run_async(scene)


def test_slurmrestd_over_tcp_takes_a_token_and_a_new_one_when_that_has_expired(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    if not slurm_server.accepts_tokens:
        pytest.skip("Slurm's plugin auth/jwt is not installed")
    subject = slurm_subject(slurm_server, "tcp", tmp_path)
    token = tmp_path / "token"
    valid = token.read_text()

    async def scene() -> None:
        token.write_text("no.such.token")
        backend = subject.backend_factory()
        with pytest.raises(SlurmFault, match="token"):
            await backend.start(lambda _: _never())
        await backend.close()
        token.write_text(valid)
        async with started(subject) as rig:
            finished, text = await run_to_end(rig, 9130, shell("echo by token"))
            assert (finished.exit_code, text) == (0, "by token\n")

    run_async(scene)


async def _never() -> None:
    raise AssertionError("nothing is to be reported")


def test_a_slurm_that_is_not_there_is_an_error_that_names_it(
    slurm_server: SlurmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        nobody = settings_for(slurm_server, "rest", tmp_path, url=f"unix:{tmp_path}/nobody")
        bare = settings_for(slurm_server, "cli", tmp_path)
        for settings, words in ((nobody, "nobody"), (bare, "scontrol cannot be run")):
            backend = SlurmBackend("slurm", settings, tmp_path / "runs")
            with pytest.raises(SlurmFault, match=words):
                await backend.start(lambda _: _never())
            await backend.close()

    monkeypatch.setenv("PATH", str(tmp_path))
    run_async(scene)
