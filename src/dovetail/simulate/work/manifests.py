"""Kubernetes manifests as work: Pods, and what makes pods (Job, Deployment, StatefulSet, ReplicaSet, PodGroup names).

A manifest says what pods ask for and how many there are; that is what is simulated. What a manifest says beside that
(volumes, probes, services) decides nothing here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.kubernetes_client.pod_requests import requests_of
from dovetail.kubernetes_client.quantity import BadQuantity
from dovetail.model.resources import CPU, DISK, MEMORY, SLOTS
from dovetail.model.text.document import Document
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.work.arrival import TimedWork, workload, wrong

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915")
GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "volcano.sh/group-name")
_RUN_ON = ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
KINDS = ("Pod", "Job", *_RUN_ON)


def is_manifest(data: object) -> bool:
    return isinstance(data, dict) and "apiVersion" in data and "kind" in data


def read_manifests(documents: Iterable[Document]) -> list[TimedWork]:
    """All submitted at once. Kinds that make no pods are left out. Raises Invalid."""
    found: list[TimedWork] = []
    for document in documents:
        items = _items(document.data)
        for item in items:
            if not is_manifest(item):
                raise wrong(document.source, document.line_of(()), "is no Kubernetes manifest: no apiVersion and kind")
            if item["kind"] in KINDS:
                found.append((0.0, _workload(item, document)))
    if not found:
        first = next(iter(documents), None)
        raise wrong("" if first is None else first.source, None, f"holds no manifest of {', '.join(KINDS)}")
    return found


def _items(data: Any) -> list[Any]:
    is_list = isinstance(data, dict) and str(data.get("kind", "")).endswith("List")
    return list(data.get("items") or ()) if is_list else [data]


def _workload(item: Mapping[str, Any], document: Document) -> Workload:
    source, line, kind = document.source, document.line_of(("kind",)), item["kind"]
    spec, meta = item.get("spec") or {}, item.get("metadata") or {}
    template = item if kind == "Pod" else spec.get("template") or {}
    pod = template.get("spec") or {}
    try:
        amounts = dict(requests_of({"spec": pod}))
    except (BadQuantity, KeyError, TypeError, AttributeError) as error:
        raise wrong(source, line, f"{kind} {meta.get('name')}: its requests cannot be read: {error}") from None
    replicas = spec.get("parallelism", spec.get("completions", 1)) if kind == "Job" else spec.get("replicas", 1)
    labels = (template.get("metadata") or {}).get("labels") or {}
    group = next((labels[name] for name in GROUP_LABELS if name in labels), None)
    fields: dict[str, Any] = {
        "name": f"{kind.lower()}-{meta.get('name') or meta.get('generateName', 'unnamed').rstrip('-')}",
        "namespace": meta.get("namespace") or "default",
        "kind": "container",
        "replicas": replicas if isinstance(replicas, int) and kind != "Pod" else 1,
        "resources": _resources(amounts),
        "node_selector": pod.get("nodeSelector") or {},
        "tolerations": [_toleration(one) for one in pod.get("tolerations") or ()],
    }
    if kind in _RUN_ON:
        fields["restart"] = "always"
    limit_s = spec.get("activeDeadlineSeconds")
    if isinstance(limit_s, int) and limit_s > 0:
        fields["deadline"] = {"run_for": limit_s}
    if group:
        fields["gang"] = {"min": fields["replicas"], "group": group}
    return workload(source, line, fields)


def _resources(amounts: dict[str, int]) -> dict[str, Any]:
    gpus = sum(amounts.pop(name, 0) for name in GPU_RESOURCES)
    amounts.pop(SLOTS, None)
    found: dict[str, Any] = {"cpu": amounts.pop(CPU, 0) / 1000, "gpu": gpus}
    for name in (MEMORY, DISK):
        if name in amounts:
            found[name] = amounts.pop(name)
    return found | amounts


def _toleration(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in ("key", "operator", "value", "effect") if one.get(name)}
