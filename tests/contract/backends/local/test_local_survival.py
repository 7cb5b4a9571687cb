"""Whatever is killed, and whenever: a command runs at most once, and somebody says how it ended.

`tests/e2e/kills` kills whole servers at random moments; here are the moments that matter, one by one.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contract.backends.conformance import LONG_S, CollectedReports, Rig, Subject, run_async, started
from tests.contract.backends.local.rig import local_subject, shell, wait_until
from tests.processes import process_lives
from tests.servers.small_disk import SmallDisk

from dovetail.backends.local.enforcement import Enforcement
from dovetail.backends.local.launch import Launcher
from dovetail.backends.local.order import Surroundings, write_order
from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.supervisor import main as supervisor
from dovetail.backends.local.supervisor.command import become
from dovetail.backends.local.supervisor.process_identity import boot_id, identity
from dovetail.backends.local.supervisor.run_files import CLAIM, RESULT, RUNNING, publish, publish_patiently
from dovetail.model.event import Event, TaskFinished, TaskStarted


@pytest.fixture
def subject(tmp_path: Path, cgroup_parent: str) -> Subject:
    return local_subject(tmp_path, "auto", cgroup_parent)


def ordered(rig: Rig, folder: Path, workload: int = 1) -> LocalRunFolder:
    """What a control plane leaves that was killed after writing the order and before starting a supervisor."""
    work = rig.work(workload)
    run = LocalRunFolder(folder / "runs", work.key)
    run.order(write_order(work, run.path, Surroundings(Enforcement("rlimit"), 1.0)))
    return run


def supervise(run: LocalRunFolder) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", supervisor.__file__, str(run.path)], start_new_session=True)


def times_run(subject: Subject, key: str) -> int:
    assert subject.times_run
    return subject.times_run(key)


def test_many_supervisors_for_one_attempt_start_its_command_once(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            run = ordered(rig, tmp_path)
            crowd = [supervise(run) for _ in range(8)]
            assert {one.wait() for one in crowd} == {0}
            assert times_run(subject, run.key) == 1
            assert run.look().exit_code == 0

    run_async(scene)


def test_a_supervisor_that_comes_after_the_refusal_starts_nothing(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            run = ordered(rig, tmp_path)
            await rig.backend.stop(run.key, "too late for you")
            assert supervise(run).wait() == 0
            assert times_run(subject, run.key) == 0
            assert (await rig.reports.until(TaskFinished, run.key)).exit_code is None

    run_async(scene)


@pytest.mark.parametrize("how", ["bind", "reconcile"])
def test_an_attempt_that_was_ordered_but_not_started_is_started_by(subject: Subject, tmp_path: Path, how: str) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            run = ordered(rig, tmp_path)
            if how == "bind":
                await rig.backend.bind(rig.work(1))
            else:
                await rig.backend.reconcile([rig.work(1)])
            assert (await rig.reports.until(TaskFinished, run.key)).exit_code == 0
            assert times_run(subject, run.key) == 1

    run_async(scene)


def test_a_supervisor_that_died_between_claim_and_start_is_a_lost_attempt_and_never_run(
    subject: Subject, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            run = ordered(rig, tmp_path)
            dead = {"pid": os.getpid(), "started_ticks": 1, "boot_id": boot_id()}  # a pid that changed hands
            publish(str(run.path), CLAIM, json.dumps(dead).encode(), durable=False)
            await rig.backend.bind(rig.work(1))
            finished = await rig.reports.until(TaskFinished, run.key)
            assert finished.exit_code is None
            assert "before the command was started" in finished.reason
            await rig.backend.bind(rig.work(1))
            assert times_run(subject, run.key) == 0

    run_async(scene)


def test_an_attempt_from_before_a_reboot_is_lost(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            run = ordered(rig, tmp_path)
            claim = identity(os.getpid()) | {"boot_id": "another"}
            publish(str(run.path), CLAIM, json.dumps(claim).encode(), durable=False)
            await rig.backend.reconcile([rig.work(1)])
            finished = await rig.reports.until(TaskFinished, run.key)
            assert (finished.exit_code, finished.reason) == (None, "lost: the machine restarted before it ended")

    run_async(scene)


def test_when_a_supervisor_is_killed_its_command_is_ended_and_reported_lost(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.work(1, LONG_S)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            run = tmp_path / "runs" / work.key
            command = json.loads((run / RUNNING).read_text())["pid"]
            os.kill(json.loads((run / CLAIM).read_text())["pid"], signal.SIGKILL)
            finished = await rig.reports.until(TaskFinished, work.key)
            assert finished.exit_code is None
            assert "supervisor was killed" in finished.reason
            wait_until(lambda: not process_lives(command), "the command is gone")

    run_async(scene)


def test_a_supervisor_that_cannot_start_is_a_lost_attempt_with_its_complaint(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            Launcher(tmp_path / "runs").program.write_bytes(b"no program")
            work = rig.work(1)
            await rig.backend.bind(work)
            finished = await rig.reports.until(TaskFinished, work.key)
            assert finished.exit_code is None
            assert finished.reason.startswith("lost: its supervisor could not start: ")

    run_async(scene)


def test_a_server_killed_while_it_compiles_the_supervisor_leaves_nothing_in_the_way_of_the_next(tmp_path: Path) -> None:
    """Forked from one process, as servers of tests are, so that their memory is laid out alike."""

    def in_another_process(interrupted: bool) -> int:
        if (child := os.fork()) == 0:
            if interrupted:
                os.replace = lambda *_: os._exit(9)
            try:
                Launcher(tmp_path).compile()
                os._exit(0)
            finally:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert [in_another_process(interrupted=yes) for yes in (True, True, True, False)] == [9, 9, 9, 0]
    assert Launcher(tmp_path).program.exists()
    assert not list(tmp_path.rglob("*.pyc.*"))


@pytest.mark.parametrize("name", [CLAIM, RUNNING, RESULT])
def test_a_supervisor_waits_for_space_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It cannot even complain: its log is on the same disk."""
    disk = SmallDisk(tmp_path / "disk")
    if disk.why_none:
        pytest.skip(f"no small disk: {disk.why_none}")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        disk.empty()

    errors, nowhere = os.dup(2), os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(time, "sleep", pause)
    try:
        disk.fill()
        os.dup2(nowhere, 2)
        assert publish_patiently(str(disk.path), name, b"{}")
    finally:
        os.dup2(errors, 2)
        disk.remove()
    assert len(pauses) == 1


def test_a_gated_child_gives_up_when_its_supervisor_dies_first(tmp_path: Path) -> None:
    gate, fault = os.pipe(), os.pipe()
    marker = tmp_path / "ran"
    pid = os.fork()
    if pid == 0:
        os.close(gate[1])
        order = {"arg": ["/bin/sh", "-c", f"touch {marker}"], "workdir": ["/"]}
        null = os.open(os.devnull, os.O_RDWR)
        become(order, gate[0], fault[1], null, null)
    os.close(gate[1])  # as the kernel does for a supervisor that was killed
    os.waitpid(pid, 0)
    assert not marker.exists()


def test_a_report_that_fails_is_made_again(subject: Subject) -> None:
    troubles = iter([RuntimeError("the store is away")] * 2)

    class Forgetful(CollectedReports):
        async def report(self, event: Event) -> None:
            if isinstance(event, TaskFinished) and (trouble := next(troubles, None)):
                raise trouble
            await super().report(event)

    async def scene() -> None:
        backend, reports = subject.backend_factory(), Forgetful(subject)
        await backend.start(reports.report)
        work = Rig(subject, backend, reports).assignment(1, shell("exit 3"))
        await backend.bind(work)
        assert (await reports.until(TaskFinished, work.key)).exit_code == 3
        await backend.close()

    run_async(scene)
    assert next(troubles, None) is None


def test_an_absent_folder_looks_absent(tmp_path: Path) -> None:
    assert LocalRunFolder(tmp_path, "1.0.1").look().phase is RunPhase.ABSENT
    assert not list(tmp_path.iterdir())
