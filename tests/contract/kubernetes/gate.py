"""A door between a client and an API server that a test can shut, and clients that go through it or straight in."""

from typing import Any

from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.access import Access, read_kubeconfig
from dovetail.kubernetes_client.api import Api


def straight(server: KubeServer, user: str = "admin") -> Api:
    return Api(read_kubeconfig([server.kubeconfig_for(user)]))


def through(address: str, server: KubeServer, user: str = "admin") -> Api:
    known = read_kubeconfig([server.kubeconfig_for(user)])
    return Api(Access(f"https://{address}", known.credentials, known.trust), timeout_s=5)


def pod_body(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}], **spec}}


def node_body(name: str) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"capacity": amounts, "allocatable": amounts}}


async def new_namespace(api: Api, name: str) -> str:
    """The path of its pods; the server is shared, and each test has its own."""
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/api/v1/namespaces/{name}/pods"
