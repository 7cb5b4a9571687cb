"""A missing claim takes no node from anybody; what the node itself cannot do does, until an operator lifts it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.contract.backends.kubernetes.rig import NAMESPACE, Line
from tests.patience import wait_for
from tests.servers.kubelet import Kubelet
from tests.servers.kubernetes.server import KubeServer
from tests.unit.api.server import serving

from dovetail.client import Client
from dovetail.control.settings import Settings
from dovetail.responses.workloads import WorkloadDetail

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def client(tmp_path: Path, line: Line, kubelet: Kubelet) -> Iterator[Client]:
    """Of a control plane with the cluster as its only backend."""
    cluster = {
        "kind": "kubernetes",
        "kubeconfig": str(line.kubeconfig(tmp_path)),
        "nodes": f"kubernetes.io/hostname={kubelet.name}",
    }
    settings = Settings.model_validate(
        {
            "data": str(tmp_path / "data"),
            "logging": {"level": "error", "decisions": False},
            "scheduling": {"backoff": {"first": "100ms", "jitter": 0}},
            "backends": {"cluster": cluster},
        }
    )
    with serving(settings) as url, Client(url) as found:
        yield found


def submit(client: Client, name: str, namespace: str, claim: str | None = None, replicas: int = 1) -> None:
    volumes = [] if claim is None else [{"source": claim, "target": "/data"}]
    run = {"image": "this-machine", "command": ["true"], "volumes": volumes}
    asked = {"cpu": 0.1}
    client.submit([{"name": name, "namespace": namespace, "replicas": replicas, "run": run, "resources": asked}])


def ended(client: Client, ref: str) -> WorkloadDetail:
    return wait_for(lambda: found if (found := client.workload(ref))["finished_at"] else None, f"the end of {ref}")


def test_pods_with_a_missing_claim_take_no_node_from_the_others(client: Client) -> None:
    submit(client, "claimless", "careless", claim="no-such-claim", replicas=12)
    failed = ended(client, "careless/claimless")
    assert failed["state"] == "failed"
    assert "there is no PersistentVolumeClaim 'no-such-claim'" in failed["message"]
    assert "make one, or correct run.volumes" in failed["message"]
    (node,) = client.nodes()
    assert (node["status"], node["reason"]) == ("online", "")
    submit(client, "good", "careful")
    assert ended(client, "careful/good")["state"] == "succeeded"


def test_a_node_that_rejects_pods_is_quarantined_and_uncordon_lifts_that(
    client: Client, kube_server: KubeServer, kubelet: Kubelet
) -> None:
    with kube_server.client() as http, kubelet.frozen():
        submit(client, "rejected", "anybody", replicas=5)
        reason = wait_for(lambda: _quarantined(client, http), "the quarantine")
        assert "anybody/rejected failed there, last: the node did not take it: UnexpectedAdmissionError" in reason
        client.uncordon(kubelet.name)
        assert client.node(kubelet.name)["status"] == "online"
        client.cancel("anybody/rejected")


def _reject_all(http: httpx.Client) -> None:
    """As a kubelet does that cannot give a pod its devices."""
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Allocate failed"}
    for item in http.get(PODS).json()["items"]:
        if item["status"].get("phase") == "Pending":
            path = f"{PODS}/{item['metadata']['name']}/status"
            http.patch(path, json={"status": status}, headers=MERGE).raise_for_status()


def _quarantined(client: Client, http: httpx.Client) -> str:
    """The reason of the quarantine; until there is one, more pods are rejected."""
    _reject_all(http)
    (node,) = client.nodes()
    return node["reason"] if node["status"] == "quarantined" else ""
