"""What Prometheus and probes are told of the scheduler, by the command itself on a real API server."""

import asyncio
import re
import ssl
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from tests.contract.kubernetes.cluster import Cluster, node, pod, scene
from tests.servers.certificates import Authority
from tests.servers.kubernetes.server import KubeServer

from dovetail.cli.main import app

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

COMMAND = [sys.executable, "-m", "dovetail", "kubernetes", "scheduler", "--no-elect"]


def test_metrics_and_probes_say_what_it_does(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", "2"))
        gated = pod("gated-1", schedulingGates=[{"name": "example.com/later"}])
        await cluster.pods(pod("a-1"), pod("big-1", "8"), gated)
        command = [*COMMAND, "--kubeconfig", str(kube_server.kubeconfig), "--listen", "0"]
        running = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        try:
            assert running.stderr is not None
            line = (await running.stderr.readline()).decode()
            found = re.search(r"http://127.0.0.1:\d+", line)
            assert found is not None, line
            async with httpx.AsyncClient(base_url=found[0]) as client:
                assert (await client.get("/healthz")).text == "ok\n"
                await cluster.until_bound("a-1")
                assert (await client.get("/readyz")).status_code == 200
                assert (await client.get("/elsewhere")).status_code == 404

                async def told() -> bool:
                    text = (await client.get("/metrics")).text
                    wanted = [
                        *("bound_total 1.0", "pods_waiting 1.0", "nodes 1.0", "binding_seconds_count 1.0"),
                        'schedule_attempts_total{result="scheduled"} 1.0',
                        'schedule_attempts_total{result="unschedulable"} 1.0',
                        'schedule_attempts_total{result="error"} 0.0',
                        'scheduling_attempt_duration_seconds_count{result="scheduled"} 1.0',
                        'scheduling_attempt_duration_seconds_count{result="unschedulable"} 1.0',
                        'pending_pods{queue="active"} 0.0',
                        'pending_pods{queue="unschedulable"} 1.0',
                        'pending_pods{queue="gated"} 1.0',
                    ]
                    return all(f"dovetail_kubernetes_{one}" in text for one in wanted)

                await cluster.until(told, "metrics say that one is bound and one waits")
        finally:
            running.terminate()
            assert await running.wait() == 0

    scene(kube_server, play)


@pytest.mark.parametrize("where", ["nowhere", "127.0.0.1:99999", "192.0.2.1:8080"])
def test_a_place_where_it_cannot_listen_is_refused_in_words(kube_server: KubeServer, where: str) -> None:
    command = ["kubernetes", "scheduler", "--no-elect", "--kubeconfig", str(kube_server.kubeconfig), "--listen", where]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 2
    assert where in ended.stderr
    assert isinstance(ended.exception, SystemExit), ended.exception


def test_metrics_are_for_those_with_the_token_and_over_tls(kube_server: KubeServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    made = authority.server("metrics")
    (tmp_path / "token").write_text("a-token-for-prometheus\n")
    trust = ssl.create_default_context(cafile=authority.certificate)

    async def play(_: Cluster) -> None:
        options = ["--tls-cert", made.certificate, "--tls-key", made.key, "--token-file", tmp_path / "token"]
        command = [*COMMAND, "--kubeconfig", str(kube_server.kubeconfig), "--listen", "0", *map(str, options)]
        running = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        try:
            assert running.stderr is not None
            line = (await running.stderr.readline()).decode()
            found = re.search(r"https://127.0.0.1:\d+", line)
            assert found is not None, line
            async with httpx.AsyncClient(base_url=found[0], verify=trust) as client:
                assert (await client.get("/healthz")).text == "ok\n"
                for wrong in ({}, {"Authorization": "Bearer a-token-for-somebody"}):
                    assert (await client.get("/metrics", headers=wrong)).status_code == 401
                right = {"Authorization": "Bearer a-token-for-prometheus"}
                assert (await client.get("/metrics", headers=right)).status_code == 200
        finally:
            running.terminate()
            assert await running.wait() == 0

    scene(kube_server, play)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["scheduler", "--listen", "0.0.0.0:0"], "--insecure-http to let everybody read the metrics"),
        (["scheduler", "--listen", "0.0.0.0:0", "--token-file", "/nowhere"], "--tls-cert, --tls-key and --token-file"),
        (["extender", "--host", "0.0.0.0"], "--any-client to answer everybody"),
    ],
)
def test_what_others_can_reach_is_not_open_unless_that_is_said(command: list[str], words: str) -> None:
    ended = CliRunner().invoke(app, ["kubernetes", *command])
    assert ended.exit_code == 2
    assert words in ended.stderr
