"""The tutorial about Slurm is followed literally on a real cluster; in the end every state is that of Slurm's records.

What stands for the reader's site: the socket and the shared folder of the page, and `systemctl` and `ssh`.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.e2e.docs.engines import Engine
from tests.e2e.docs.page import read_page
from tests.e2e.docs.runner import ROOT, PageRunner
from tests.servers.slurm import SlurmServer, slurm_server
from tests.servers.slurm_services import slurm_services

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
PAGE = ROOT / "docs" / "tutorials" / "slurm.md"
PATIENCE_S = 60.0
#: Slurm itself ends jobs that use more memory than they asked for: there are no cgroups here.
ENDS_GREEDY_JOBS = "JobAcctGatherFrequency=task=1\nJobAcctGatherParams=OverMemoryKill\n"
STEPS = 15  # of the work that goes on while Slurm is in trouble


class RecordedJob(NamedTuple):
    state: str
    status: str  # exit code and signal


def recorded_jobs(server: SlurmServer) -> dict[str, RecordedJob]:
    """Slurm's own record of every job of ours, by the key of its attempt."""
    found: dict[str, RecordedJob] = {}
    for line in server.call("scontrol", "--oneliner", "show", "jobs").splitlines():
        said = dict(re.findall(r"(\w+)=(\S*)", line))
        name = re.fullmatch(r"dovetail-[0-9a-f]+-(\d+)\.(\d+|x)\.(\d+)", said["JobName"])
        assert name is not None, said["JobName"]
        key = f"{name[1]}.{said.get('ArrayTaskId') if name[2] == 'x' else name[2]}.{name[3]}"
        assert key not in found, f"two jobs for {key}"
        found[key] = RecordedJob(said["JobState"], said["ExitCode"])
    return found


def assert_states_agree(client: Client, server: SlurmServer) -> None:
    jobs = recorded_jobs(server)
    for work in client.workloads()["items"]:
        for task in client.tasks(work["id"]):
            last = f"{work['id']}.{task['replica']}.{task['attempt']}"
            job = jobs.pop(last, None)
            where = f"{work['name']} {last}: {task['state']}, {task['exit_code']}, and in Slurm {job}"
            if task["state"] == "succeeded":
                assert job == RecordedJob("COMPLETED", "0:0"), where
            elif task["state"] == "failed":
                code = task["exit_code"]
                assert code is not None, where
                status = f"0:{code - 128}" if code > 128 else f"{code}:0"
                assert job == RecordedJob("FAILED", status), where
            else:
                assert task["state"] == "cancelled", where
                assert job is None or job.state in ("CANCELLED", "FAILED"), where
    # What is left belongs to attempts that were preempted, moved or lost: none of them runs or has succeeded.
    assert {job.state for job in jobs.values()} <= {"CANCELLED", "FAILED", "NODE_FAIL"}, jobs


def test_the_tutorial_can_be_followed_and_every_state_is_that_of_slurm(tmp_path: Path) -> None:
    with slurm_server(more=ENDS_GREEDY_JOBS) as server, slurm_services(server, tmp_path) as programs:
        places = {"/run/slurmrestd/slurmrestd.sock": str(server.socket), "/shared": str(tmp_path / "shared")}
        shell = {"SLURM_CONF": str(server.settings), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        with PageRunner(tmp_path, Engine(places, shell), patience_s=PATIENCE_S) as runner:
            for block in read_page(PAGE, str(PAGE.relative_to(ROOT))):
                runner.run(block)
            with Client(runner.url) as client:
                assert_states_agree(client, server)
                steady = client.tasks("reef/steady")
                assert [task["attempt"] for task in steady] == [1, 1]
                for task in steady:
                    text = (tmp_path / "shared" / "dovetail" / f"1.{task['replica']}.1" / "output.log").read_text()
                    assert text.split("\n")[:-1] == [f"step {number}" for number in range(1, STEPS + 1)]
