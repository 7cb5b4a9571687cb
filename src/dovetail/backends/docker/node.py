"""A host as a node: what its engine reports, overridden by the settings."""

from typing import Any

from dovetail.backends.docker.settings import HostSettings
from dovetail.model.node import Node
from dovetail.model.resources import DEFAULT_NODE_SLOTS, Capacity
from dovetail.model.workloads.workload import WorkloadKind

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MAX_LABEL = 253


def describe(backend: str, host: HostSettings, info: dict[str, Any], image_labels: dict[str, str]) -> Node:
    own = host.capacity
    arch = str(info.get("Architecture", "")).lower()
    measured = {
        "arch": _ARCHITECTURES.get(arch, arch),
        "os": str(info.get("OSType", "")),
        "hostname": str(info.get("Name", ""))[:MAX_LABEL],
    }
    return Node(
        name=host.name,
        backend=backend,
        capacity=Capacity(
            cpu=float(cores(info)) if own.cpu is None else own.cpu,
            memory=int(info.get("MemTotal") or 0) if own.memory is None else own.memory,
            disk=own.disk,
            slots=DEFAULT_NODE_SLOTS if own.slots is None else own.slots,
        ),
        labels=image_labels | {key: value for key, value in measured.items() if value} | host.labels,
        taints=host.taints,
        kinds=[WorkloadKind.CONTAINER],
        gpus=host.gpus,
        address=host.reached_at,
    )


def cores(info: dict[str, Any]) -> int:
    return int(info.get("NCPU") or 1)


def engine_id(info: dict[str, Any]) -> str:
    """Identifies an engine. Its own id is not enough: it is copied with machines, and shared by engines on one."""
    return "\n".join(str(info.get(name, "")) for name in ("ID", "Name", "DockerRootDir"))
