"""Work on a Kubernetes cluster outlives its control plane and the cluster's: nothing is lost, nothing runs twice."""

import random
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess
from tests.examples import times
from tests.servers.kubelet import kubelet, namespace
from tests.servers.kubernetes.server import KubeServer

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
WORKLOADS, KILLS = times(12), times(2)
PATIENCE_S = 120.0
NAMESPACE = "survives"
NODES = ("survives-a", "survives-b")


def test_kills_on_both_sides_lose_nothing_and_run_nothing_twice(kube_server: KubeServer, tmp_path: Path) -> None:
    chance = random.Random(6)
    marks = tmp_path / "marks"
    settings = {
        "backends": {
            "cluster": {
                "kind": "kubernetes",
                "kubeconfig": str(kube_server.kubeconfig),
                "namespace": NAMESPACE,
                "nodes": f"kubernetes.io/hostname in ({','.join(NODES)})",
            }
        }
    }
    with ExitStack() as stack:
        stack.enter_context(namespace(kube_server, NAMESPACE))
        for name in NODES:
            stack.enter_context(kubelet(kube_server, name))
        server = stack.enter_context(ServerProcess(tmp_path, settings))
        with Client(server.url) as client:
            client.submit_yaml("\n---\n".join(job(number, marks) for number in range(WORKLOADS)))
        for kill in range(KILLS):
            time.sleep(chance.uniform(0.2, 1.0))
            server.kill()
            if kill == 1:
                kube_server.restart()
            server.start()
        with Client(server.url) as client:
            deadline = time.monotonic() + PATIENCE_S
            while client.workloads(unfinished=True)["items"] and time.monotonic() < deadline:
                time.sleep(0.2)
            states = {found["name"]: found["state"] for found in client.workloads()["items"]}
            assert states == {f"job-{number}": "succeeded" for number in range(WORKLOADS)}
            assert client.logs("job-0").text == "printed by job-0\n"
    assert Counter(marks.read_text().split()) == dict.fromkeys(states, 1)


def job(number: int, marks: Path) -> str:
    name = f"job-{number}"
    script = f"echo {name} >> {marks}; echo printed by {name}; sleep 0.5"
    return f"name: {name}\nresources: {{cpu: 300m}}\nrun: {{image: any, command: [/bin/sh, -c, '{script}']}}"
