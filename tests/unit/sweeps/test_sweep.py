"""`dovetail sweep`: all combinations, the same figures however they are run, and going on after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.patience import wait_for

from dovetail.cli.main import app
from dovetail.simulate.run_figures import RunFigures
from dovetail.sweeps.cases import SweepCase, SweepSource, cases_of
from dovetail.sweeps.definition import read_sweep
from dovetail.sweeps.execution import Execution, NoCluster, on_cores, on_dask, serial

DAY = """\
cluster: {leaf_spine: {spines: 1, leaves_per_spine: 2, nodes_per_leaf: 4, gpus_per_node: 8, cpu: 64, memory: 1TiB}}
stream: {rate: 0.02, count: 60, tenants: {research: 2, students: 1}, mix: {finetuning: 1, notebook: 1}}
workloads:
- {name: ring, replicas: 4, gang: {min: 4}, resources: {cpu: 8, gpu: 8}, run: {simulate: {run_time: 20m}}}
seed: 3
"""
SWEEP = """\
source: {scenario: day.yaml}
profiles: [balanced, gpu_packing]
weights: {balanced: {load_balance: [0, 30]}}
grid: {stream.rate: [0.02]}
seeds: 2
"""


def the_cases(sweep: str = SWEEP, day: str = DAY) -> tuple[SweepSource, list[SweepCase]]:
    wanted, document = read_sweep(sweep, "sweep.yaml")
    source = SweepSource("scenario", "day.yaml", day.encode())
    return source, cases_of(wanted, document, source)


def run_all(execution: Execution, source: SweepSource, cases: list[SweepCase]) -> dict[str, RunFigures]:
    return {case.key: figures for case, figures in execution(source, cases)}


@pytest.fixture(scope="module")
def serial_figures() -> dict[str, RunFigures]:
    return run_all(serial, *the_cases())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "day.yaml").write_text(DAY)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    return tmp_path


def sweep(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["sweep", str(folder / "sweep.yaml"), *arguments], env={"COLUMNS": "80"})


def test_every_combination_is_a_case_and_only_what_varies_is_in_its_name() -> None:
    _, cases = the_cases()
    assert [(case.variant, case.seed) for case in cases] == [
        ("balanced (load_balance 0)", 3),
        ("balanced (load_balance 0)", 4),
        ("balanced (load_balance 30)", 3),
        ("balanced (load_balance 30)", 4),
        ("gpu_packing", 3),
        ("gpu_packing", 4),
    ]
    assert len({case.key for case in cases}) == 6


def test_weights_and_seeds_change_what_is_decided(serial_figures: dict[str, RunFigures]) -> None:
    assert len({figures["digest"] for figures in serial_figures.values()}) == 6
    assert all(figures["numbers"]["traffic_s"] for figures in serial_figures.values())  # the gang spans nodes


def test_several_processes_give_the_figures_of_a_serial_run(serial_figures: dict[str, RunFigures]) -> None:
    assert run_all(on_cores(2), *the_cases()) == serial_figures


@pytest.fixture
def dask_scheduler(tmp_path: Path) -> Iterator[str]:
    """A scheduler and a worker, as processes of their own."""
    pytest.importorskip("distributed", reason="needs the package distributed (PyPI)")
    address_file = tmp_path / "scheduler.json"
    quiet = ["--no-dashboard", "--scheduler-file", str(address_file)]
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *quiet]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address_file)]
    worker += ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in (dask, worker):
            with (tmp_path / "dask.log").open("ab") as log:
                started.append(subprocess.Popen(command, stdout=log, stderr=log))
            while not address_file.exists():
                assert started[-1].poll() is None, (tmp_path / "dask.log").read_text()
                time.sleep(0.05)
        from distributed import Client

        address = str(json.loads(address_file.read_text())["address"])
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        yield address
    finally:
        for process in reversed(started):
            process.kill()  # told to stop in order, a worker takes up to half a minute for it
            process.wait()


def test_a_dask_cluster_gives_the_figures_of_a_serial_run(
    dask_scheduler: str, serial_figures: dict[str, RunFigures]
) -> None:
    assert run_all(on_dask(dask_scheduler), *the_cases()) == serial_figures


def test_a_scheduler_that_is_not_there_is_named() -> None:
    pytest.importorskip("distributed", reason="needs the package distributed (PyPI)")
    with pytest.raises(NoCluster, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        run_all(on_dask("tcp://127.0.0.1:9"), *the_cases())


def test_the_command_compares_variants_and_writes_a_report(folder: Path) -> None:
    result = sweep(folder, "--cores", "1", "--report", str(folder / "r.html"))
    assert result.exit_code == 0, result.output
    assert "6 cases, 3 variants with 2 seeds each" in result.stdout
    assert max(map(len, result.stdout.splitlines()[2:])) <= 80
    assert "<svg" in (folder / "r.html").read_text()


def test_what_was_run_before_is_not_run_again(folder: Path) -> None:
    first = json.loads(sweep(folder, "--cores", "1", "-o", "json").stdout)
    kept = {file: file.stat().st_mtime_ns for file in (folder / "sweep.results").iterdir()}
    assert len(kept) == 6
    again = sweep(folder, "--cores", "1", "-o", "json")
    assert "6 of 6 cases were run before" in again.stderr
    assert json.loads(again.stdout) == first
    assert {file: file.stat().st_mtime_ns for file in (folder / "sweep.results").iterdir()} == kept


def test_a_sweep_that_was_killed_goes_on_and_ends_as_one_that_was_not(folder: Path) -> None:
    whole = json.loads(sweep(folder, "--cores", "1", "-o", "json", "--results", str(folder / "whole")).stdout)
    results = folder / "killed"
    command = [sys.executable, "-m", "dovetail", "sweep", str(folder / "sweep.yaml"), "--cores", "1"]
    process = subprocess.Popen(
        [*command, "--results", str(results)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: list(results.glob("*.json")) or process.poll() is not None, "a result")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    before = len(list(results.glob("*.json")))
    assert before >= 1
    (results / f"{'0' * 32}.json").write_text("{")  # a file of nobody does no harm
    gone_on = sweep(folder, "--cores", "1", "-o", "json", "--results", str(results))
    assert gone_on.exit_code == 0, gone_on.output
    assert json.loads(gone_on.stdout) == whole
    assert f"{before} of 6 cases were run before" in gone_on.stderr


def test_a_damaged_result_is_run_again(folder: Path) -> None:
    first = json.loads(sweep(folder, "--cores", "1", "-o", "json").stdout)
    damaged = next((folder / "sweep.results").glob("*.json"))
    damaged.write_bytes(damaged.read_bytes()[:40])
    again = sweep(folder, "--cores", "1", "-o", "json")
    assert "5 of 6 cases were run before" in again.stderr
    assert json.loads(again.stdout) == first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source: {scenario: day.yaml}\nprofiles:\n- balanced\n- balansed\n", "sweep.yaml:4: profiles[1]: unknown pro"),
        (
            "source: {scenario: day.yaml}\ngrid:\n  stream.rate: [1, -1]\n",
            "sweep.yaml:3: grid['stream.rate'][1]: the s",
        ),
        ("source: {scenario: day.yaml}\ngrid:\n  seed.x: [1]\n", "sweep.yaml:3: grid['seed.x']: seed is a single val"),
        (
            "source: {scenario: day.yaml}\nweights:\n  balanced:\n    load: [1]\n",
            "sweep.yaml:4: weights.balanced.load: is no score of balanced",
        ),
        ("source: {scenario: day.yaml}\nseeds: 0\n", "sweep.yaml:2: seeds"),
        ("source: {scenario: day.yaml}\npolicies: [fcfs]\n", "sweep.yaml:2: policies: is for batch logs"),
        ("source: {}\n", "sweep.yaml:1: source: names no file, or several"),
        ("source: {scenario: none.yaml}\n", "none.yaml: cannot be read"),
    ],
)
def test_mistakes_are_told_with_their_line(folder: Path, text: str, said: str) -> None:
    (folder / "sweep.yaml").write_text(text)
    result = sweep(folder)
    assert result.exit_code == 2
    assert said in result.stderr


def test_batch_logs_are_swept_by_policy(folder: Path) -> None:
    jobs = [
        f"{i} {i * 20} -1 {100 + i % 7 * 50} {1 + i % 4} -1 -1 {1 + i % 4} {99 + i % 7 * 50} -1 1 {i % 3} 1 1 1 1 -1 -1"
        for i in range(200)
    ]
    (folder / "log.swf").write_text("; MaxProcs: 8\n" + "\n".join(jobs) + "\n")
    text = "source: {swf: log.swf, length: 50}\npolicies: [fcfs, sjf]\nseeds: 3\n"
    (folder / "sweep.yaml").write_text(text)
    found = json.loads(sweep(folder, "--cores", "1", "-o", "json").stdout)
    assert found["variants"] == ["fcfs", "sjf"]
    assert found["metrics"]["mean_wait_s"]["sjf"]["mean"] < found["metrics"]["mean_wait_s"]["fcfs"]["mean"]


def test_a_snapshot_is_a_source_too(tmp_path: Path) -> None:
    """Work of a cluster as it is, decided by other profiles; the seed decides how long it runs."""
    shape = {"cpu": 8, "memory": "32GiB", "gpu": 4}
    nodes = [{"node": {"name": f"n-{place}", "capacity": shape}, "row": place} for place in range(4)]
    work = [
        {
            "id": number,
            "submitted_at": 0,
            "definition": {"name": f"w-{number}", "resources": {"cpu": 1, "gpu": 1 + number % 3}},
            "tasks": [{"replica": 0}],
        }
        for number in range(1, 25)
    ]
    known = {"format": "dovetail-snapshot", "version": 1, "taken_at": 1}
    (tmp_path / "cluster.json").write_text(json.dumps({**known, "nodes": nodes, "workloads": work}))
    changed = "source: {snapshot: cluster.json}\nprofiles: [best_fit, least_loaded]\nseeds: 2\n"
    (tmp_path / "sweep.yaml").write_text(changed)
    found = sweep(tmp_path, "--cores", "1", "-o", "json")
    assert found.exit_code == 0, found.output
    assert "best_fit" in found.stdout
    assert "least_loaded" in found.stdout
    assert json.loads(found.stdout) == json.loads(sweep(tmp_path, "--cores", "2", "-o", "json").stdout)
    (tmp_path / "sweep.yaml").write_text(changed + "grid: {stream.rate: [1]}\n")
    refused = sweep(tmp_path)
    assert "sweep.yaml:4: grid: is for scenarios" in refused.output
