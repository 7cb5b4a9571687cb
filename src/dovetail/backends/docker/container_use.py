"""What containers use, from the engine's statistics. CPU is a rate, measured between two calls.

The engine knows no pressure, and no network of a container without one of its own.
"""

import asyncio
from typing import Any

from dovetail.backends.docker.deciding import moment
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.model.resources import CPU, MEMORY, Amounts
from dovetail.model.task_use import TaskUse

AT_ONCE = 8
_NANOSECONDS = 1e9


def use_in(stats: dict[str, Any], cpu_cores: float | None) -> TaskUse:
    networks = list((stats.get("networks") or {}).values())
    disk = (stats.get("blkio_stats") or {}).get("io_service_bytes_recursive") or []

    def moved(what: str) -> int:
        return sum(int(one.get("value") or 0) for one in disk if str(one.get("op", "")).lower() == what)

    return TaskUse(
        cpu_cores=None if cpu_cores is None else round(cpu_cores, 4),
        memory_bytes=memory_in_use_bytes(stats),
        disk_read_bytes=moved("read"),
        disk_written_bytes=moved("write"),
        network_received_bytes=sum(int(one.get("rx_bytes") or 0) for one in networks) if networks else None,
        network_sent_bytes=sum(int(one.get("tx_bytes") or 0) for one in networks) if networks else None,
    )


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


class ContainerMeter:
    """Whoever measures has one of his own: CPU is what was used since his last call."""

    def __init__(self, api: EngineApi) -> None:
        self._api = api
        self._before: dict[str, tuple[float, float]] = {}  # CPU time and time of the last call, by container
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def measure(self, containers: list[str]) -> dict[str, TaskUse]:
        """By container, without those that have ended meanwhile."""
        return {container: use_in(stats, cores) for container, stats, cores in await self._read(containers)}

    async def total(self) -> Amounts:
        """Of all running containers, also those of others. The engine does not know what else runs on the host."""
        running = [str(one["Id"]) for one in await self._api.containers([], ["running", "paused"])]
        found = await self._read(running)
        used_cores = sum((cores for _, _, cores in found if cores is not None), 0.0)
        return {CPU: round(used_cores * 1000), MEMORY: sum(memory_in_use_bytes(stats) for _, stats, _ in found)}

    async def _read(self, containers: list[str]) -> list[tuple[str, dict[str, Any], float | None]]:
        """The statistics of each, and the cores that it has used since the last call."""
        answers = await asyncio.gather(*(self._stats(one) for one in containers))
        now: dict[str, tuple[float, float]] = {}
        found = []
        for container, stats in zip(containers, answers, strict=True):
            at = None if stats is None else moment(str(stats.get("read", "")))
            if stats is None or at is None:
                continue
            now[container] = (processor_time_s(stats), at)
            before = self._before.get(container)
            is_later = before is not None and at > before[1]
            cores = max(0.0, now[container][0] - before[0]) / (at - before[1]) if before and is_later else None
            found.append((container, stats, cores))
        self._before = now
        return found

    async def _stats(self, container: str) -> dict[str, Any] | None:
        async with self._slots:
            try:
                return await self._api.stats(container)
            except DockerApiError:  # it has ended meanwhile
                return None
