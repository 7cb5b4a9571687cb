"""The Slurm cluster that tests are given really runs jobs."""

import time
from typing import Any

import httpx
import pytest
from tests.servers.slurm import API, NODES, SlurmServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
PATIENCE_S = 60.0


def submit(server: SlurmServer, client: httpx.Client, script: str, **options: Any) -> int:
    job = {"name": "test", "current_working_directory": str(server.folder), "environment": {"PATH": "/bin:/usr/bin"}}
    body = {"script": f"#!/bin/sh\n{script}\n", "job": {**job, "memory_per_node": 100, **options}}
    answer = client.post("/job/submit", json=body).json()
    assert not answer["errors"], answer["errors"]
    return int(answer["job_id"])


def wait_for(client: httpx.Client, job: int, *states: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    found: dict[str, Any] = {}
    while time.monotonic() < deadline:
        (found,) = client.get(f"/job/{job}").json()["jobs"]
        if found["job_state"] in states:
            return found
        time.sleep(0.1)
    raise AssertionError(f"job {job} is {found['job_state']} ({found['state_reason']}), not {' or '.join(states)}")


def test_all_nodes_are_idle_with_features_and_gpus(slurm_server: SlurmServer) -> None:
    with slurm_server.client() as client:
        nodes = {node["name"]: node for node in client.get("/nodes").json()["nodes"]}
    assert set(nodes) == set(NODES)
    assert nodes["n1"]["features"] == "fast"
    assert nodes["n3"]["gres"] == "gpu:a100:2"
    assert "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]" in slurm_server.call("scontrol", "show", "topology")


def test_a_job_is_given_a_gpu_and_its_exit_code_kept(slurm_server: SlurmServer) -> None:
    output = slurm_server.folder / "gpu-job.out"
    with slurm_server.client() as client:
        script = 'echo "gpu $CUDA_VISIBLE_DEVICES"; exit 3'
        job = submit(slurm_server, client, script, partition="gpu", gres="gpu:1", standard_output=str(output))
        ended = wait_for(client, job, "FAILED")
    assert (ended["exit_code"], ended["nodes"] in ("n3", "n4"), output.read_text()) == (3 << 8, True, "gpu 0\n")


def test_tcp_is_for_those_with_a_token(slurm_server: SlurmServer) -> None:
    if not slurm_server.accepts_tokens:
        pytest.skip("Slurm's plugin auth/jwt is not installed")
    stranger = httpx.get(f"http://127.0.0.1:{slurm_server.tcp_port}/slurm/{API}/ping", timeout=60)
    assert stranger.status_code == httpx.codes.UNAUTHORIZED
    with slurm_server.tcp_client() as client:
        assert client.get("/ping").json()["pings"][0]["ping"] == "UP"


def test_a_job_outlives_its_controller_and_its_nodes_daemon(slurm_server: SlurmServer) -> None:
    with slurm_server.client() as client:
        job = submit(slurm_server, client, "sleep 1000", nodelist="n1")
        wait_for(client, job, "RUNNING")
        slurm_server.restart_controller()
        slurm_server.restart_node("n1")
        found = wait_for(client, job, "RUNNING")
        assert (found["nodes"], found["restart_cnt"]) == ("n1", 0)
        client.delete(f"/job/{job}").raise_for_status()
        wait_for(client, job, "CANCELLED")
