"""Reads a v1 Node as a node of the engine: capacity, labels and taints. Facts that Kubernetes selects by other means
than labels become labels that users cannot set.

A node marked `unschedulable` gets one more taint, which a toleration of Kubernetes' own taint for such nodes tolerates.
Readiness is expressed by taints alone, as in Kubernetes.
Left to others: removing nodes.
"""

from collections.abc import Mapping
from typing import Any

from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.pod_requests import amount, resource_name
from dovetail.kubernetes_client.quantity import nanos
from dovetail.model.node import Node
from dovetail.model.requests.pod_ask import EVERY_NODE, FEATURE, NODE_NAME, UNSCHEDULABLE, VOLUME_LIMIT
from dovetail.model.resources import CPU, DISK, MEMORY, SLOTS, Capacity
from dovetail.model.workloads.image import PRESENT, image_label
from dovetail.model.workloads.selection import Effect, Taint
from dovetail.model.workloads.workload import WorkloadKind

#: A smaller image is pulled so quickly that it does not matter where it is present.
_LEAST_IMAGE_BYTES = 23 * 2**20
_NO_MARKS: Mapping[str, str] = {}
_UNSCHEDULABLE = Taint(key=UNSCHEDULABLE, effect=Effect.NO_SCHEDULE)


def read_node(
    node: Json, csi_node: Json | None = None, backend: str = "kubernetes", marks: Mapping[str, str] = _NO_MARKS
) -> Node:
    """`csi_node`: how many volumes it can attach; `marks`: our own labels for devices that it has. Not validated: the
    API server has done that, and allows names that we would not."""
    name = node["metadata"]["name"]
    status = node.get("status") or {}
    return Node.model_construct(
        name=name,
        backend=backend,
        capacity=_capacity(status.get("allocatable") or {}),
        labels={**_labels(node, status, csi_node), **marks},
        taints=_taints(node.get("spec") or {}),
        kinds=[WorkloadKind.CONTAINER],
        gpus=[],
    )


def _capacity(allocatable: Json) -> Capacity:
    found = {resource_name(name): amount(name, nanos(str(value))) for name, value in allocatable.items()}
    known: dict[str, Any] = {name: found.pop(name, 0) for name in (MEMORY, DISK, SLOTS)}
    known["cpu"] = found.pop(CPU, 0) / 1000
    return Capacity.model_construct(None, gpu=0, **known, **found)


def _labels(node: Json, status: Json, csi_node: Json | None) -> dict[str, str]:
    found = dict(node["metadata"].get("labels") or {})
    found[NODE_NAME] = node["metadata"]["name"]
    found[EVERY_NODE] = ""
    for feature in status.get("declaredFeatures") or ():
        found[FEATURE + feature] = ""
    for image in status.get("images") or ():
        if (image.get("sizeBytes") or 0) >= _LEAST_IMAGE_BYTES:
            keys = [image_label(name) for name in image.get("names") or ()]
            found |= {key: PRESENT for key in keys if key is not None}
    for driver in ((csi_node or {}).get("spec") or {}).get("drivers") or ():
        limit = (driver.get("allocatable") or {}).get("count")
        if limit is not None:
            found[VOLUME_LIMIT + driver["name"]] = str(limit)
    return found


def _taints(spec: Json) -> list[Taint]:
    found = [
        Taint.model_construct(key=taint["key"], value=taint.get("value") or "", effect=Effect(taint["effect"]))
        for taint in spec.get("taints") or ()
    ]
    return [*found, _UNSCHEDULABLE] if spec.get("unschedulable") else found
