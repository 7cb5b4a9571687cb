"""Paths of collections and objects in the API."""

from urllib.parse import quote

CORE = "/api/v1"
DEVICES = "/apis/resource.k8s.io/v1"
EVENTS = "/apis/events.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1"
METRICS = "/apis/metrics.k8s.io/v1beta1"
STORAGE = "/apis/storage.k8s.io/v1"
NODES = f"{CORE}/nodes"
PODS = f"{CORE}/pods"


def collection(group: str, plural: str, namespace: str | None = None) -> str:
    """`group` as the constants here have it. Without a namespace: of all of them, or of no namespace at all."""
    return f"{group}/{plural}" if namespace is None else f"{group}/namespaces/{_safe(namespace)}/{plural}"


def pod(namespace: str, name: str, sub: str = "") -> str:
    path = f"{CORE}/namespaces/{_safe(namespace)}/pods/{_safe(name)}"
    return f"{path}/{sub}" if sub else path


def one(group: str, plural: str, name: str, namespace: str | None = None) -> str:
    return f"{collection(group, plural, namespace)}/{_safe(name)}"


def _safe(name: str) -> str:
    # Names in the API are of letters, digits, '-' and '.': quoting, which is slow, is for what is not one.
    return name if name.replace("-", "").replace(".", "").isalnum() and name.isascii() else quote(name, safe="")
