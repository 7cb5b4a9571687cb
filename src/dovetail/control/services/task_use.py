"""What running tasks use, as last measured: by the agents of their nodes, or by their backend.

Kept in memory, for tasks that run; nothing is decided by it, and after a restart it is measured again.
"""

import asyncio
import time
from typing import NamedTuple

import structlog

from dovetail.backends.contract import MeasuringBackend
from dovetail.control.backends.roster import Backends
from dovetail.model.task_use import TaskUse

MEASURE_EVERY_S = 10.0

log = structlog.get_logger()


class LatestUse(NamedTuple):
    use: TaskUse
    at: float


class TaskUseService:
    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self._measured: dict[str, dict[str, LatestUse]] = {}  # by backend and key

    def latest(self, backend: str, key: str) -> LatestUse | None:
        """None for an attempt that does not run, or was not measured yet."""
        if (reported := self._backends.registered.use_of(key)) is not None:
            return LatestUse(*reported)
        return self._measured.get(backend, {}).get(key)

    async def run(self) -> None:
        """Until cancelled: measure where backends can do that themselves."""
        while True:
            await asyncio.gather(*(self._measure(name) for name in list(self._backends.members)))
            self._measured = {name: found for name, found in self._measured.items() if name in self._backends.members}
            await asyncio.sleep(MEASURE_EVERY_S)

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
