"""`dovetail demo`: the crowd's sums, and a whole demo in a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from tests.patience import wait_for

from dovetail.cli.program.demo import advice
from dovetail.cli.program.demo_crowd import ESTIMATES, GANG_NAME, DemoCrowd, as_users_write_it
from dovetail.client import Client
from dovetail.model.workloads.workload import Workload


@pytest.mark.parametrize("rate", [0.5, 6.0, 100.0])
def test_whatever_the_rate_the_work_fills_the_wanted_share_of_the_gpus(rate: float) -> None:
    stream = DemoCrowd(rate=rate, gpus=8000, target=0.88, seed=1).stream()
    assert stream.rate * stream.mean_gpu_seconds == pytest.approx(0.88 * 8000)


def test_work_says_how_long_it_runs_at_most_and_trainings_on_several_whole_nodes_are_gangs() -> None:
    crowd, chance = DemoCrowd(rate=6.0, gpus=8000, target=0.92, seed=1), Random(1)
    for _, plain in islice(crowd.stream().arrivals(1), 500):
        spec = as_users_write_it(plain, chance)
        assert plain.run.simulate is not None
        assert plain.run.simulate.run_time is not None
        assert spec.deadline.run_for is not None
        assert plain.run.simulate.run_time < spec.deadline.run_for <= plain.run.simulate.run_time * max(ESTIMATES) + 2
        whole_nodes = spec.replicas > 1 and spec.resources.gpu >= 8
        assert (spec.gang is not None and spec.gang.min == spec.replicas) == whole_nodes


def test_advice_names_what_is_really_there() -> None:
    large = Workload.model_validate({"name": "large", "namespace": "research", "replicas": 9, "resources": {"gpu": 8}})
    lines = advice("http://127.0.0.1:1234", [Workload(name="small"), large])
    assert "  export DOVETAIL_URL=http://127.0.0.1:1234" in lines
    assert "  dovetail explain large -n research" in lines


@pytest.mark.needs_server
@pytest.mark.slow
def test_a_demo_serves_a_busy_cluster_and_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "demo", "--port", "0"]
    env = os.environ | {"TMPDIR": str(tmp_path)}
    demo = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert demo.stdout is not None
        url = ""
        for line in demo.stdout:
            url = url or "".join(re.findall(r"listens on (http://\S+)", line))
            if line.startswith("Ctrl-C"):
                break
        with Client(url) as client:
            summary = client.summary()
            assert summary["nodes"]["total"] == 1000
            assert summary["resources"]["gpu"]["capacity"] > 7000
            assert sum(summary["workloads"].values()) > 100
            waiting = client.explain("sixteen-gpus")
            assert "gpu short by 8" in waiting["answer"]
            assert {gpu["model"] for gpu in client.node("gpu-s1-l1-n01")["gpus"]} == {"H200"}
            wait_for(lambda: any(row["starts_at"] and GANG_NAME in row["name"] for row in client.queue()))
        demo.terminate()
        rest, errors = demo.communicate()
    finally:
        demo.kill()
    assert demo.returncode == 0, errors
    assert "the demo has ended" in rest
    assert list(tmp_path.iterdir()) == []


def test_a_duration_that_is_none_is_said() -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "demo", "--duration", "soon"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tempfile.gettempdir())
    assert found.returncode == 2
    assert "--duration: 'soon' is not a duration" in found.stderr
