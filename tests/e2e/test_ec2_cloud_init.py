"""A real server with EC2 and no agents: instances of moto run their user data by the real cloud-init, and the ends of
jobs come back through GetConsoleOutput."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_ec2 import ec2
from tests.e2e.warm_shell import run_warm
from tests.examples import times
from tests.patience import wait_for
from tests.servers.aws_faults import AwsFaults, aws_faults
from tests.servers.cloud_init import CloudInitMachine, skip_without_cloud_init
from tests.servers.job_machines import JobMachines, ScriptMachine, job_machines
from tests.servers.moto import MotoServer

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("moto")]
KILLS = 4
OVER = ("terminated", "shutting-down")


@pytest.fixture
def faults(moto: MotoServer) -> Iterator[AwsFaults]:
    moto.reset()
    with aws_faults(moto.url) as found:
        yield found


@pytest.fixture
def machines(moto: MotoServer, faults: AwsFaults, tmp_path: Path) -> Iterator[JobMachines]:
    skip_without_cloud_init()
    with job_machines(moto, tmp_path / "machines", CloudInitMachine) as found:
        faults.consoles = found.console
        yield found


def server_at(folder: Path, url: str, **fields: Any) -> ServerProcess:
    entry = ec2(url, **fields)
    del entry["join"]
    return ServerProcess(folder, {"backends": {"aws": {**entry, "cloud_init": {}}}})


def job(name: str, script: str, **more: Any) -> dict[str, Any]:
    wanted = {"backends": {"allow": ["aws"]}, "resources": {"cpu": 1, "memory": "1GiB"}}
    return {"name": name, **wanted, "run": {"command": ["sh", "-c", script]}, **more}


def is_over(client: Client, name: str) -> bool:
    return client.workload(name)["finished_at"] is not None


def test_a_job_runs_by_cloud_init_alone_and_its_instance_is_ended(
    moto: MotoServer, faults: AwsFaults, machines: JobMachines, tmp_path: Path
) -> None:
    with server_at(tmp_path, faults.url) as server, Client(server.url) as client:
        wait_for(lambda: len(client.cloud_prices()) == 2, "the offers")
        client.submit(job("hello", "echo from $(hostname); exec sleep 3"))
        wait_for(lambda: client.workload("hello")["state"] == "running", "the job")
        (row,) = client.cloud_instances()["items"]
        assert (row["state"], row["known"]) == ("running", True)
        asked = run_warm(["exec", "hello", "--url", server.url, "--", "true"], dict(os.environ))
        assert asked.returncode != 0
        assert "cannot run commands next to its tasks" in asked.stderr
        client.submit(job("second", "exit 7"))  # while the first runs: it needs an instance of its own
        wait_for(partial(is_over, client, "hello"), "the end of the first")
        wait_for(partial(is_over, client, "second"), "the end of the second")
        assert client.workload("hello")["state"] == "succeeded"
        assert client.logs("hello").text == "from machine\n"
        assert client.workload("second")["state"] == "failed"
        assert client.tasks("second")[0]["exit_code"] == 7
        wait_for(lambda: {one["State"]["Name"] for one in moto.instances()} == {"terminated"}, "the end of both")
        assert len(moto.instances()) == 2
        client.submit(job("secret", "true") | {"run": {"command": ["true"], "env": {"PASSWORD": "x"}}})
        wait_for(partial(is_over, client, "secret"), "the refusal")
        assert "user data is no place for secrets" in json.dumps(client.workload("secret"))
        assert len(moto.instances()) == 2


def test_a_job_whose_server_was_killed_is_found_again_and_runs_once(
    moto: MotoServer, faults: AwsFaults, machines: JobMachines, tmp_path: Path
) -> None:
    with server_at(tmp_path, faults.url) as server, Client(server.url) as client:
        wait_for(client.cloud_prices, "the offers")
        client.submit(job("kept", "echo once; sleep 3"))
        wait_for(lambda: client.workload("kept")["state"] == "running", "the job")
        server.kill()
        wait_for(lambda: " end - " in machines.console(next(iter(machines.all))), "its end, while nobody looks")
        server.start()
        wait_for(partial(is_over, client, "kept"), "its end")
        assert client.workload("kept")["state"] == "succeeded"
        assert client.logs("kept").text == "once\n"
        assert len(moto.instances()) == 1
        wait_for(
            lambda: {one["State"]["Name"] for one in moto.instances()} == {"terminated"}, "the end of the instance"
        )


def test_kills_around_launches_run_nothing_twice_and_leave_no_orphan(
    moto: MotoServer, faults: AwsFaults, tmp_path: Path
) -> None:
    """User data is run without cloud-init here, which is quicker; the commands count their own runs."""
    chance, runs = Random(5), tmp_path / "runs"
    runs.mkdir()
    faults.pause_s["RunInstances"] = faults.pause_s["TerminateInstances"] = lambda: chance.uniform(0, 0.2)
    with job_machines(moto, tmp_path / "machines", ScriptMachine) as machines:
        faults.consoles = machines.console
        names = [f"job-{number}" for number in range(times(KILLS))]
        script = f"echo x >> {runs}/$DOVETAIL_TASK.$DOVETAIL_ATTEMPT; sleep 0.3"
        server = server_at(tmp_path, faults.url, poll="100ms", max_machines=100)
        with server, Client(server.url) as client:
            for name in names:
                wait_for(client.cloud_prices, "the offers")
                client.submit(job(name, script, retries=5))
                time.sleep(chance.uniform(0, 1.0))
                server.kill()
                server.start()
            for name in names:
                wait_for(partial(is_over, client, name), f"the end of {name}")
                assert client.workload(name)["state"] == "succeeded", client.workload(name)
            wait_for(lambda: all(one["State"]["Name"] in OVER for one in moto.instances()), "the end of all instances")
    counted = {path.name: path.read_text().count("x") for path in runs.iterdir()}
    assert set(counted.values()) == {1}, counted
    assert len(counted) >= len(names)
    tokens = Counter(tag["Value"] for one in moto.instances() for tag in one["Tags"] if tag["Key"] == "dovetail-launch")
    assert set(tokens.values()) == {1}, tokens
