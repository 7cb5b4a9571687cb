"""The API server that tests are given really is one, and a stock kube-scheduler works with it."""

import time
from typing import Any

import httpx
import pytest
import yaml
from tests.servers.kubernetes.server import KubeServer, token

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
PODS = "/api/v1/namespaces/default/pods"
PATIENCE_S = 60.0
"""How long a scheduler may take on a busy machine."""


def create_node(client: httpx.Client, name: str) -> None:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    body = {"metadata": {"name": name}, "status": {"capacity": amounts, "allocatable": amounts}}
    client.post("/api/v1/nodes", json=body).raise_for_status()


def create_pod(client: httpx.Client, name: str, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}], **spec}}
    client.post(PODS, json=body).raise_for_status()


def node_of(client: httpx.Client, pod: str) -> str | None:
    node = client.get(f"{PODS}/{pod}").raise_for_status().json()["spec"].get("nodeName")
    return node if node is None else str(node)


def remove(client: httpx.Client, *, node: str, pod: str) -> None:
    client.request("DELETE", f"{PODS}/{pod}", json={"gracePeriodSeconds": 0}).raise_for_status()
    client.delete(f"/api/v1/nodes/{node}").raise_for_status()


def test_a_pod_is_bound_once(kube_server: KubeServer) -> None:
    with kube_server.client() as client:
        create_node(client, "bind-1")
        create_pod(client, "bind")
        binding = {"metadata": {"name": "bind"}, "target": {"kind": "Node", "name": "bind-1"}}
        first = client.post(f"{PODS}/bind/binding", json=binding)
        again = client.post(f"{PODS}/bind/binding", json=binding)
        assert (first.status_code, again.status_code) == (httpx.codes.CREATED, httpx.codes.CONFLICT)
        assert node_of(client, "bind") == "bind-1"
        remove(client, node="bind-1", pod="bind")


@pytest.mark.parametrize("etcd", [False, True])
def test_what_was_written_survives_a_kill(kube_server: KubeServer, etcd: bool) -> None:
    with kube_server.client() as client:
        create_node(client, "kept-1")
        create_pod(client, "kept")
    kube_server.restart(etcd=etcd)
    with kube_server.client() as client:
        assert node_of(client, "kept") is None
        remove(client, node="kept-1", pod="kept")


def test_the_kubeconfig_names_the_server_and_the_administrator(kube_server: KubeServer) -> None:
    config = yaml.safe_load(kube_server.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == kube_server.url
    assert config["users"][0]["user"]["token"] == token("admin")


def test_kube_scheduler_places_what_asks_for_it_and_leaves_the_rest(kube_server: KubeServer) -> None:
    profile = {"profiles": [{"schedulerName": "stock"}]}
    with kube_server.client() as client, kube_server.start_scheduler(profile):
        create_node(client, "stock-1")
        create_pod(client, "another", schedulerName="dovetail")
        create_pod(client, "stock", schedulerName="stock")
        deadline = time.monotonic() + PATIENCE_S
        while node_of(client, "stock") is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert (node_of(client, "stock"), node_of(client, "another")) == ("stock-1", None)
        client.delete(f"{PODS}/another").raise_for_status()
        remove(client, node="stock-1", pod="stock")


def test_nobody_may_do_only_what_a_binding_allows(kube_server: KubeServer) -> None:
    with kube_server.client() as admin, kube_server.client("nobody") as nobody:
        assert nobody.get("/api/v1/nodes").status_code == httpx.codes.FORBIDDEN
        role = {"kind": "ClusterRole", "name": "system:node-proxier", "apiGroup": "rbac.authorization.k8s.io"}
        subject = {"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}
        body = {"metadata": {"name": "test"}, "roleRef": role, "subjects": [subject]}
        admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json=body).raise_for_status()
        deadline = time.monotonic() + PATIENCE_S
        while nobody.get("/api/v1/nodes").status_code != httpx.codes.OK and time.monotonic() < deadline:
            time.sleep(0.1)
        allowed, refused = nobody.get("/api/v1/nodes"), nobody.get(PODS)
        assert (allowed.status_code, refused.status_code) == (httpx.codes.OK, httpx.codes.FORBIDDEN)
        admin.delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/test").raise_for_status()
