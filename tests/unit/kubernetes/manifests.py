"""Small Kubernetes objects, and a small cluster of them to ask."""

from collections.abc import Iterable
from typing import Any

from dovetail.kubernetes.checking.cluster_replica import ClusterReplica
from dovetail.kubernetes.checking.verdicts import Verdict

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NOW = 2_000_000_000.0
Json = dict[str, Any]


def node(name: str, zone: str | None = None, *, cpu: str = "4", labels: Json | None = None, **spec: Any) -> Json:
    own = {HOST: name, **({} if zone is None else {ZONE: zone}), **(labels or {})}
    allocatable = {"cpu": cpu, "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": own}, "spec": spec, "status": {"allocatable": allocatable}}


def container(cpu: str = "1", memory: str = "1Gi", name: str = "c", **more: Any) -> Json:
    return {"name": name, "image": "web:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def pod(
    name: str = "waits", labels: Json | None = None, *, namespace: str = "default", cpu: str = "1", **spec: Any
) -> Json:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {"containers": [container(cpu)], **spec},
        "status": {"phase": "Pending"},
    }


def near(key: str, selector: Json | None, **term: Any) -> Json:
    return {"podAffinity": _required(key, selector, term)}


def apart(key: str, selector: Json | None, **term: Any) -> Json:
    return {"podAntiAffinity": _required(key, selector, term)}


def _required(key: str, selector: Json | None, term: Json) -> Json:
    found = {"topologyKey": key, **({} if selector is None else {"labelSelector": selector}), **term}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [found]}


def app(name: str) -> Json:
    return {"matchLabels": {"app": name}}


class Little:
    """A cluster of a few nodes with pods on them."""

    def __init__(self, nodes: Iterable[Json], **objects: Any) -> None:
        self.scene = ClusterReplica(NOW)
        self.scene.add_objects({"nodes": list(nodes), **objects})

    def put(self, on: str, *pods: Json, started: str = "2026-01-01T00:00:00Z") -> "Little":
        for one in pods:
            one["spec"]["nodeName"] = on
            one["status"] |= {"phase": "Running", "startTime": started}
            assert self.scene.place(one, on) is not None
        return self

    def against(self, waiting: Json, name: str) -> list[Verdict]:
        """What a node has against a pod."""
        return self.scene.verdicts(self.scene.reader.read(waiting), name)

    def fits(self, waiting: Json) -> list[str]:
        """The nodes that it may go to."""
        return [name for name in self.scene.engine._state.cluster.rows if not self.against(waiting, name)]

    def plugin(self, waiting: Json, name: str) -> tuple[str, bool]:
        """The plugin that refuses first, and whether eviction could help."""
        first = self.against(waiting, name)[0]
        return first.plugin, first.helps
