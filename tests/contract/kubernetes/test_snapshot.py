"""A snapshot of a real API server: nodes, pods and PodGroups, and a simulation that goes on from it."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.contract.kubernetes.cluster import PODS, Cluster, node, pod
from tests.contract.kubernetes.gate import straight
from tests.servers.kubernetes.server import KubeServer

from dovetail.cli.main import app
from dovetail.kubernetes_client.pods import bind
from dovetail.simulate.cases import CaseFile, SimulationCase, run_case
from dovetail.snapshots.file import read_snapshot

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

NODES = ("snap-1", "snap-2")


def test_pods_of_a_cluster_go_on_in_a_simulation(kube_server: KubeServer, tmp_path: Path) -> None:
    asyncio.run(_prepare(kube_server))
    file = tmp_path / "cluster.json.gz"
    try:
        words = ["snapshot", "--kubernetes", "--kubeconfig", str(kube_server.kubeconfig), "-o", str(file)]
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.output
    finally:
        asyncio.run(_clean(kube_server))
    data = file.read_bytes()
    document = read_snapshot(data, "cluster.json.gz")
    assert document.source.kind == "kubernetes"
    assert {one.node.name for one in document.nodes} >= set(NODES)
    works = {one.definition.name: one for one in document.workloads}
    assert works["snap-placed"].tasks[0].node == "snap-1"
    assert not works["snap-waits"].tasks
    assert b"hunter2" not in data
    case = SimulationCase(CaseFile("cluster.json.gz", data), horizon_s=3600.0)
    lives = {one["name"]: one for one in run_case(case, every_workload=True)["outcome"]["lives"]}
    assert lives["snap-waits"]["all_placed_at"] == 0.0  # there is room on the second node
    assert lives["snap-large"]["all_placed_at"] is None
    assert lives["snap-picky"]["all_placed_at"] is None  # its node selector matches no node
    more = {"add_nodes": [{"like": "snap-1", "labels": {"disk": "nvme"}}]}
    lives = {
        one["name"]: one
        for one in run_case(SimulationCase(case.source, changes=more, horizon_s=3600.0), every_workload=True)[
            "outcome"
        ]["lives"]
    }
    assert lives["snap-picky"]["all_placed_at"] == 0.0


async def _prepare(server: KubeServer) -> None:
    async with straight(server) as api:
        cluster = Cluster(server, api)
        await cluster.nodes(*(node(name) for name in NODES))
        secret = {"env": [{"name": "TOKEN", "value": "hunter2"}]}
        placed = pod("snap-placed", "3")
        placed["spec"]["containers"][0] |= secret
        await cluster.pods(
            placed, pod("snap-waits", "3"), pod("snap-large", "64"), pod("snap-picky", nodeSelector={"disk": "nvme"})
        )
        await bind(api, "default", "snap-placed", "snap-1")


async def _clean(server: KubeServer) -> None:
    async with straight(server) as api:
        at_once = {"gracePeriodSeconds": 0, "kind": "DeleteOptions", "apiVersion": "v1"}
        for name in ("snap-placed", "snap-waits", "snap-large", "snap-picky"):
            await api.delete(f"{PODS}/{name}", at_once)
        for name in NODES:
            await api.delete(f"/api/v1/nodes/{name}")
