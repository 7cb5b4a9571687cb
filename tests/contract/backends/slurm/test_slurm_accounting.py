"""Jobs that Slurm's controller has forgotten while the control plane was away are looked up in its accounting."""

import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contract.backends.batch_rig import bind_all, replicas, shell
from tests.contract.backends.conformance import PATIENCE_S, Subject, run_async, started
from tests.contract.backends.slurm.rig import Way, slurm_subject
from tests.servers.slurm import SlurmServer, slurm_server

from dovetail.backends.contract import Assignment
from dovetail.model.event import TaskStarted

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
WAYS: dict[str, Way] = {"cli": "cli", "rest": "rest", "bare": "rest"}
TIMES = r"from \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ to \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
KILLED, CANCELLED, ALONE = 0, 1, 2


@dataclass
class Forgotten:
    """Of three jobs the last is one by itself, the others are an array. The first and the last were killed with their
    scripts, as when a node runs out of memory, so that nothing could be written down; the second was cancelled."""

    subject: Subject
    works: list[Assignment]


@pytest.fixture(scope="module")
def server() -> Iterator[SlurmServer]:
    """With accounting."""
    with slurm_server(accounting=True) as server:
        yield server


@pytest.fixture(scope="module")
def forgotten(server: SlurmServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Forgotten]:
    """By the way that Slurm is asked; `bare`: with slurmrestd, where no command of Slurm's is installed."""
    found = {}
    for name, way in WAYS.items():
        folder = tmp_path_factory.mktemp(name)
        subject = slurm_subject(server, way, folder, array_within_s=1)
        found[name] = Forgotten(subject, _ended_while_nobody_looked(server, subject, folder))
    until_s = time.monotonic() + PATIENCE_S
    while "JobId=" in server.call("scontrol", "show", "jobs", check=False):
        assert time.monotonic() < until_s, "the controller still knows jobs"
        time.sleep(0.2)
    return found


def _ended_while_nobody_looked(server: SlurmServer, subject: Subject, folder: Path) -> list[Assignment]:
    spec = shell(f"echo $PPID > {folder}/$DOVETAIL_REPLICA.script; sleep 1000", replicas=3)
    works = replicas(9501, spec, {KILLED: "n1", CANCELLED: "n1", ALONE: "n2"})

    async def scene() -> None:
        async with started(subject) as rig:
            await bind_all(rig, works)
            for work in works:
                await rig.reports.until(TaskStarted, work.key)
            await rig.reports.until_true(lambda: all(map(_script, works)), "the processes of the scripts")

    def _script(work: Assignment) -> int:
        """Its process, or 0 while that is not known."""
        file = folder / f"{work.task.replica}.script"
        return int(file.read_text().strip() or 0) if file.exists() else 0

    run_async(scene)
    for replica in (KILLED, ALONE):
        os.kill(_script(works[replica]), signal.SIGKILL)
    array = (folder / "runs" / works[CANCELLED].key / "claim" / "by").read_text().split()[0]
    server.call("scancel", f"{array}_{CANCELLED}")
    return works


@pytest.mark.parametrize("way", WAYS)
def test_jobs_that_left_nothing_are_known_by_the_accounting_with_their_ends_and_times(
    forgotten: dict[str, Forgotten], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    subject, works = forgotten[way].subject, forgotten[way].works
    if way == "bare":
        monkeypatch.setenv("PATH", str(tmp_path))

    async def scene() -> None:
        async with started(subject) as rig:
            await rig.backend.reconcile(works)
            for replica in (KILLED, ALONE):
                finished = await rig.finished(works[replica].key)
                assert finished.exit_code == 137
                assert re.fullmatch(rf"FAILED {TIMES}: killed by signal 9", finished.reason)
            finished = await rig.finished(works[CANCELLED].key)
            assert finished.exit_code is None
            assert re.fullmatch(rf"CANCELLED \(by user \w+\) {TIMES}: by somebody in Slurm", finished.reason)

    run_async(scene)
