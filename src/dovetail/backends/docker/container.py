"""Turns an assignment into a container, and refuses what this backend cannot run. Pure.

Requests become CPU shares and a soft memory limit; limits become a CPU quota and a hard memory limit without swap. The
command replaces the image's entry point and command. It sees the workload's own variables, those of
`Assignment.variables`, and only its own GPUs. A share of a GPU is not enforced: it sees the whole GPU.
"""

import math
from dataclasses import dataclass
from typing import Any

from dovetail.backends.contract import Assignment, WorkloadRefusal
from dovetail.backends.docker.settings import DockerSettings, HostSettings
from dovetail.backends.host_folders import is_folder, refuse_other_folders
from dovetail.model.device import devices_of
from dovetail.model.workloads.image import canonical
from dovetail.model.workloads.run import Volume
from dovetail.model.workloads.workload import Workload, WorkloadKind

KEY, CLUSTER, BACKEND = "dovetail.key", "dovetail.cluster", "dovetail.backend"
WORKLOAD, NAMESPACE, NODE = "dovetail.workload", "dovetail.namespace", "dovetail.node"
RUN_FOR_S, GRACE_S = "dovetail.run_for_s", "dovetail.grace_s"
SHARES_A_CORE, LEAST_SHARES, MOST_SHARES = 1024, 2, 262_144
LEAST_NANO_CPUS = 10_000_000  # Docker's minimum: a hundredth of a core
_LOG_FILES = 2  # the older one is dropped when the newer is full, so at least `log_size` is kept


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner of containers: several control planes and several backends may share a host."""

    cluster: str
    backend: str

    def name(self, key: str) -> str:
        """The name of an attempt's container. Docker accepts each name only once."""
        return f"dovetail-{self.cluster}-{key}"

    @property
    def labels(self) -> list[str]:
        """As filters of the Engine API."""
        return [f"{CLUSTER}={self.cluster}", f"{BACKEND}={self.backend}"]

    def key_of(self, labels: dict[str, str]) -> str | None:
        """The key of a container's attempt; None if the container is not ours."""
        ours = labels.get(CLUSTER) == self.cluster and labels.get(BACKEND) == self.backend
        return labels.get(KEY) if ours else None


def refuse_what_cannot_run(spec: Workload, settings: DockerSettings) -> None:
    label = f"workload {spec.name!r}"
    if spec.kind not in (WorkloadKind.CONTAINER, WorkloadKind.JOB):
        words = f"{label} is of kind {spec.kind}; the Docker backend runs containers, and jobs with an image"
        raise WorkloadRefusal(words)
    if spec.run.image is None:
        words = f"{label} has no image; write run: {{image: name:tag, command: [program, argument, …]}}"
        raise WorkloadRefusal(words)
    refuse_other_folders(spec, settings.allow_paths)


def container_body(
    assignment: Assignment, identity: Identity, host: HostSettings, settings: DockerSettings, host_cores: int
) -> dict[str, Any]:
    """The body of the create call."""
    spec = assignment.spec
    assert spec.run.image is not None
    grace_s = settings.grace_s if spec.disruption.grace is None else spec.disruption.grace
    labels = {
        KEY: assignment.key,
        CLUSTER: identity.cluster,
        BACKEND: identity.backend,
        WORKLOAD: spec.name,
        NAMESPACE: spec.namespace,
        NODE: assignment.node,
        GRACE_S: str(math.ceil(grace_s)),
    }
    if spec.deadline.run_for is not None:
        labels[RUN_FOR_S] = repr(float(spec.deadline.run_for))
    body: dict[str, Any] = {
        "Image": canonical(spec.run.image),
        "Env": [f"{name}={value}" for name, value in (spec.run.env | assignment.variables()).items()],
        "Labels": labels,
        "StopTimeout": math.ceil(grace_s),
        "HostConfig": {
            **_limits(spec, host_cores),
            "NetworkMode": host.network or settings.network,
            "RestartPolicy": {"Name": "no"},  # Dovetail decides about retries and where they run
            "LogConfig": _log_config(settings),
            "Mounts": [_mount(volume) for volume in spec.run.volumes],
        },
    }
    if assignment.devices:
        devices = devices_of(host.gpus, max(assignment.devices) + 1)
        gpus = {"Driver": "nvidia", "DeviceIDs": assignment.device_ids(devices), "Capabilities": [["gpu"]]}
        body["HostConfig"]["DeviceRequests"] = [gpus]
    if spec.run.command:
        # The whole command is the entry point: some engines treat an empty entry point like none.
        body["Entrypoint"] = list(spec.run.command)
    if spec.run.workdir is not None:
        body["WorkingDir"] = spec.run.workdir
    if spec.run.stdin:
        body["OpenStdin"] = True
    if settings.user is not None:
        body["User"] = settings.user
    return body


def _limits(spec: Workload, host_cores: int) -> dict[str, int]:
    asked, most = spec.resources, spec.limits
    found = {"CpuShares": min(max(LEAST_SHARES, round(asked.cpu * SHARES_A_CORE)), MOST_SHARES)}
    if most.cpu is not None:
        # Docker rejects a quota above the cores of the host.
        found["NanoCpus"] = min(max(LEAST_NANO_CPUS, round(most.cpu * 1e9)), host_cores * 1_000_000_000)
    if asked.memory:
        found["MemoryReservation"] = asked.memory
    if most.memory is not None:
        found["Memory"] = found["MemorySwap"] = most.memory
    return found


def _log_config(settings: DockerSettings) -> dict[str, Any]:
    size = settings.log_size
    return {
        "Type": settings.log_driver,
        "Config": {} if size is None else {"max-size": f"{size}b", "max-file": str(_LOG_FILES)},
    }


def _mount(volume: Volume) -> dict[str, Any]:
    kind = "bind" if is_folder(volume) else "volume"
    return {"Type": kind, "Source": volume.source, "Target": volume.target, "ReadOnly": volume.read_only}
