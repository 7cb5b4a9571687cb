"""A host as a node: what its engine reports, overridden by the settings, and the use of its containers.

Use is CPU since the last call and memory now. All running containers count, also those of others. The engine does not
know what else runs on the host.
"""

import asyncio
from typing import Any

from dovetail.backends.docker.deciding import moment
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.settings import HostSettings
from dovetail.model.node import Node
from dovetail.model.resources import CPU, DEFAULT_NODE_SLOTS, MEMORY, Amounts, Capacity
from dovetail.model.workloads.workload import WorkloadKind

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MAX_LABEL = 253
AT_ONCE = 8
_NANOSECONDS = 1e9


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


def processor_time_s(stats: dict[str, Any]) -> float:
    """Since the container started."""
    usage = (stats.get("cpu_stats") or {}).get("cpu_usage") or {}
    return float(usage.get("total_usage") or 0) / _NANOSECONDS


def memory_in_use_bytes(stats: dict[str, Any]) -> int:
    """Without page cache that the kernel would free at once."""
    memory = stats.get("memory_stats") or {}
    details = memory.get("stats") or {}
    idle = details.get("total_inactive_file", details.get("inactive_file", 0))
    return max(0, int(memory.get("usage") or 0) - int(idle))


class Observer:
    def __init__(self, api: EngineApi) -> None:
        self._api = api
        self._before: dict[str, tuple[float, float]] = {}  # CPU time and time of the last call, by container
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def observe(self) -> Amounts:
        running = [str(one["Id"]) for one in await self._api.containers([], ["running", "paused"])]
        found = await asyncio.gather(*(self._stats(one) for one in running))
        now: dict[str, tuple[float, float]] = {}
        cores, memory_bytes = 0.0, 0
        for container, stats in zip(running, found, strict=True):
            at = None if stats is None else moment(str(stats.get("read", "")))
            if stats is None or at is None:
                continue
            now[container] = (processor_time_s(stats), at)
            memory_bytes += memory_in_use_bytes(stats)
            before = self._before.get(container)
            if before is not None and at > before[1]:
                cores += max(0.0, now[container][0] - before[0]) / (at - before[1])
        self._before = now
        return {CPU: round(cores * 1000), MEMORY: memory_bytes}

    async def _stats(self, container: str) -> dict[str, Any] | None:
        async with self._slots:
            try:
                return await self._api.stats(container)
            except DockerApiError:  # it has ended meanwhile
                return None
