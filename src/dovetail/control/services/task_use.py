"""What running tasks use, as last measured: by the agents of their nodes, or by their backend.

Kept in memory, for tasks that run; nothing is decided by it, and after a restart it is measured again.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from dovetail.backends.contract import MeasuringBackend
from dovetail.backends.socket_flows import FlowMeter
from dovetail.control.backends.roster import Backends
from dovetail.control.services.own_machine import LOCAL
from dovetail.model.task_flows import TaskFlows
from dovetail.model.task_use import TaskUse

MEASURE_EVERY_S = 10.0

log = structlog.get_logger()


class LatestUse(NamedTuple):
    use: TaskUse
    at: float


class TaskUseService:
    """`take_flows`: is told what this machine has counted of the traffic of its tasks."""

    def __init__(self, backends: Backends, take_flows: Callable[[Mapping[str, TaskFlows]], None]) -> None:
        self._backends, self._take_flows = backends, take_flows
        self._flows: dict[str, FlowMeter] = defaultdict(FlowMeter)  # by backend
        self._measured: dict[str, dict[str, LatestUse]] = {}  # by backend and key

    def latest(self, backend: str, key: str) -> LatestUse | None:
        """None for an attempt that does not run, or was not measured yet."""
        if (reported := self._backends.reported_use(key)) is not None:
            return LatestUse(*reported)
        return self._measured.get(backend, {}).get(key)

    def cores(self, key: str) -> float | None:
        """The cores that an attempt uses, whatever runs it. May be called on any thread."""
        reported = self._backends.reported_use(key)
        if reported is not None:
            return reported[0].cpu_cores
        found = (measured.get(key) for measured in list(self._measured.values()))
        return next((one.use.cpu_cores for one in found if one is not None), None)

    async def run(self) -> None:
        """Until cancelled: measure where backends can do that themselves."""
        try:
            while True:
                await asyncio.gather(*(self._measure(name) for name in list(self._backends.members)))
                for gone in self._measured.keys() - self._backends.members.keys():
                    del self._measured[gone]
                    self._forget_flows(gone)
                await asyncio.sleep(MEASURE_EVERY_S)
        finally:
            for name in list(self._flows):
                self._forget_flows(name)

    def _forget_flows(self, backend: str) -> None:
        if (meter := self._flows.pop(backend, None)) is not None:
            meter.close()

    async def _measure(self, name: str) -> None:
        executor = self._backends.members[name].executor
        if executor is None or not isinstance(executor.backend, MeasuringBackend):
            return
        try:
            found = await executor.backend.measure()
        except Exception as error:  # it has not started, or does not answer now
            log.debug("the use of tasks was not measured", backend=name, error=str(error))
            self._measured.pop(name, None)
        else:
            now = time.time()
            self._measured[name] = {key: LatestUse(one.use, now) for key, one in found.items()}
            await self._count_flows(name, {key: one.pids for key, one in found.items() if one.pids})

    async def _count_flows(self, name: str, pids: dict[str, frozenset[int]]) -> None:
        """Of a backend whose processes run on this machine."""
        member = self._backends.members.get(name)
        if member is None or member.kind != LOCAL or not pids:
            return
        self._take_flows(await asyncio.to_thread(self._flows[name].measure, pids))
