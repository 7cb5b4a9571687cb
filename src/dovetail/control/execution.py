"""Carrying out commands: each backend has its own line of workers, so that one's trouble never delays another.

A command is in the outbox, durably, before it comes here, and leaves it only when the backend has answered for sure.
Anything else is tried again with the same key, more and more slowly; after several failures in a row the backend
counts as unavailable until one succeeds.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from dovetail.backends.contract import Assignment, Backend, Refusal
from dovetail.control.inbox import News
from dovetail.model.command import Bind, Stop
from dovetail.model.event import BackendHealthChanged, BindFailed, TaskBound
from dovetail.model.workload import Workload

FAILURES_UNTIL_DOWN = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0

log = structlog.get_logger()


class Executor:
    """One backend's commands, in order of arrival, `parallel` at a time."""

    def __init__(
        self,
        backend: Backend,
        spec_of: Callable[[int], Awaitable[Workload]],
        tell: Callable[[News], None],
        parallel: int,
    ) -> None:
        self.backend = backend
        self.available = True
        self._spec_of = spec_of
        self._tell = tell
        self._parallel = parallel
        self._queue: asyncio.Queue[Bind | Stop] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._failures = 0
        self._stopping: set[str] = set()  # keys whose Bind must not be sent any more

    def begin(self) -> None:
        """Until now commands only queued up."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._parallel)]

    def put(self, command: Bind | Stop) -> None:
        if isinstance(command, Stop):
            self._stopping.add(command.key)
        self._queue.put_nowait(command)

    async def close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            command = await self._queue.get()
            pause_s = FIRST_PAUSE_S
            while not await self._try(command):
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _try(self, command: Bind | Stop) -> bool:
        """True when the command is settled, one way or the other."""
        try:
            news = await (self._bind(command) if isinstance(command, Bind) else self._stop(command))
        except Exception as error:  # a backend's client may raise anything: unknown outcome, ask again
            self._failed(command, error)
            return False
        self._succeeded()
        self._tell(news)
        return True

    async def _bind(self, command: Bind) -> News:
        done = [("bind", command.key)]
        if command.key in self._stopping:
            return News([], done)  # its Stop is on the way and will be answered by the backend
        spec = await self._spec_of(command.task.workload)
        try:
            await self.backend.bind(Assignment(command.key, command.task, command.node, spec, command.devices))
        except Refusal as refusal:
            return News([BindFailed(command.task, command.key, str(refusal))], done)
        return News([TaskBound(command.task, command.key)], done)

    async def _stop(self, command: Stop) -> News:
        await self.backend.stop(command.key, command.reason)
        self._stopping.discard(command.key)
        return News([], [("stop", command.key)])

    def _failed(self, command: Bind | Stop, error: Exception) -> None:
        self._failures += 1
        name = self.backend.name
        log.warning("backend call failed", backend=name, key=command.key, error=f"{type(error).__name__}: {error}")
        if self.available and self._failures >= FAILURES_UNTIL_DOWN:
            self.available = False
            self._tell(News([BackendHealthChanged(name, False, str(error))]))

    def _succeeded(self) -> None:
        self._failures = 0
        if not self.available:
            self.available = True
            self._tell(News([BackendHealthChanged(self.backend.name, True, "answers again")]))
