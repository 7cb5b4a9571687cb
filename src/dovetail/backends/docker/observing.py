"""The resource use of a host's containers: CPU since the last call, memory now.

All running containers count, also those of others. The engine does not know what else runs on the host.
"""

import asyncio
from typing import Any

from dovetail.backends.docker.deciding import moment
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.model.resources import CPU, MEMORY, Amounts

AT_ONCE = 8
_NANOSECONDS = 1e9


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
