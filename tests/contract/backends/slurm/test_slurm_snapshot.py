"""A snapshot of a real Slurm cluster: its nodes, jobs that run and jobs that wait, and a simulation from it."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.patience import wait_for
from tests.servers.slurm import SlurmServer

from dovetail.cli.main import app
from dovetail.simulate.cases import CaseFile, SimulationCase, run_case
from dovetail.snapshots.file import read_snapshot

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]


def test_jobs_of_slurm_go_on_in_a_simulation(
    slurm_server: SlurmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm_server.settings))
    options = ("--parsable", "--output=/dev/null", "--mem=64", "--time=10")
    runs = int(slurm_server.call("sbatch", *options, "--nodes=2", "--job-name=runs", "--wrap", "sleep 600"))
    held = int(slurm_server.call("sbatch", *options, "--hold", "--job-name=waits", "--wrap", "sleep 600"))
    try:
        wait_for(lambda: f"{runs} RUNNING" in slurm_server.call("squeue", "--noheader", "--format=%i %T"))
        file = tmp_path / "slurm.json"
        found = CliRunner().invoke(app, ["snapshot", "--slurm", "-o", str(file)])
        assert found.exit_code == 0, found.output
    finally:
        slurm_server.call("scancel", str(runs), str(held))
    document = read_snapshot(file.read_bytes(), "slurm.json")
    works = {one.id: one for one in document.workloads}
    assert len(document.nodes) == 4
    assert all(one.node.capacity.cpu >= 1 for one in document.nodes)  # also what jobs hold
    assert len({task.node for task in works[runs].tasks}) == 2
    assert works[runs].definition.deadline.run_for == 600.0
    assert works[held].definition.name == f"waits-{held}"
    assert not works[held].tasks
    lives = {
        one["id"]: one for one in run_case(SimulationCase(CaseFile(str(file))), every_workload=True)["outcome"]["lives"]
    }
    assert lives[held]["all_placed_at"] == 0.0
    assert 0.0 < lives[runs]["finished_at"] <= 600.0
