"""Logs of tasks: found by workload, replica and attempt, read from the backend that ran the attempt.

Guarantees: every failure has a message for the user who waits. Where the backend cannot be asked (out of reach, too
slow, starting, breaker open, whatever its client raises) that is `Unavailable`, without the secrets of its settings.
Queries count for its health but not for its breaker: a failing query says little of commands.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import structlog

from dovetail.backends.contract import Backend, IndexedLogs, LogChunk, NoOutput, TimedLogs
from dovetail.backends.log_tail import tail_by_reading
from dovetail.control.backends.breaker import Circuit
from dovetail.control.backends.execution import said
from dovetail.control.backends.member import Member
from dovetail.control.backends.roster import Backends
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.control.loop.store_access import MOST_ATTEMPTS, on_store_thread
from dovetail.model.command import attempt_key
from dovetail.model.task import TaskId, TaskState
from dovetail.store.contract import Store

log = structlog.get_logger()

T = TypeVar("T")


class OutputSource(NamedTuple):
    """An attempt whose output is asked for."""

    task: TaskId
    attempt: int
    backend: str
    started_at: float | None
    ended_at: float | None

    @property
    def key(self) -> str:
        return attempt_key(self.task, self.attempt)


class TaskOutput:
    def __init__(self, store: Store, backends: Backends, timeout_s: float) -> None:
        self._store, self._backends, self._timeout_s = store, backends, timeout_s

    async def find(
        self, workload: int, replica: int, attempt: int | None = None, *, previous: bool = False
    ) -> OutputSource:
        """The latest attempt of the task, the one before, or any. Raises NotFound where there is none."""
        rows = await on_store_thread(self._store.tasks, workload, 1, replica)
        if not rows or rows[0]["replica"] != replica:
            raise NotFound(f"workload {workload} has no replica {replica}")
        task = TaskId(workload, replica)
        tried = (await on_store_thread(self._store.attempts, workload, MOST_ATTEMPTS, 0, replica)).items
        if not tried:
            yet = "" if TaskState(rows[0]["state"]).finished else " yet"
            raise NotFound(f"task {replica} has no logs{yet}: it is {rows[0]['state']}")
        wanted = attempt if attempt is not None else tried[0]["attempt"] - previous
        for row in tried:
            if row["attempt"] == wanted:
                return OutputSource(task, wanted, row["backend"], row["started_at"], row["ended_at"])
        if previous and attempt is None:
            raise NotFound(
                f"task {replica} has no attempt before its latest one, which is number {tried[0]['attempt']}"
            )
        known = f"the latest is {tried[0]['attempt']}"
        raise NotFound(f"task {replica} has no attempt {wanted}; {known}")

    async def read(self, source: OutputSource, offset: int, limit: int) -> LogChunk:
        """Raises NotFound where there is no output, Unavailable where its backend cannot say now."""
        return await self._ask(source, lambda backend: backend.logs(source.key, offset, limit))

    async def tail(self, source: OutputSource, lines: int) -> int:
        """The byte offset at which the last lines begin. Raises as `read` does."""

        async def find(backend: Backend) -> int:
            if isinstance(backend, IndexedLogs):
                return await backend.log_tail(source.key, lines)
            return await tail_by_reading(backend, source.key, lines)

        return await self._ask(source, find)

    async def since(self, source: OutputSource, at: float) -> int | None:
        """The byte offset of what was written since that time; None if nothing was. Raises as `read` does, and Conflict
        where the backend does not know when output was written."""
        if source.started_at is None or source.started_at >= at:
            return 0
        if source.ended_at is not None and source.ended_at < at:
            return None

        async def find(backend: Backend) -> int | None:
            return await backend.log_since(source.key, at) if isinstance(backend, TimedLogs) else None

        offset = await self._ask(source, find)
        if offset is None:
            words = f"backend {source.backend} does not know when task {source.task} wrote what; ask for the last lines"
            raise Conflict(f"{words} instead: --tail N")
        return offset

    def _backend_of(self, source: OutputSource) -> Member:
        task, member = source.task, self._backends.members.get(source.backend)
        if member is None:
            raise NotFound(f"task {task} has no logs any more: backend {source.backend}, which ran it, is not there")
        if member.executor is not None and not member.executor.backend.capabilities.logs:
            raise NotFound(f"task {task} has no logs here: backend {member.name} keeps none; look at its node")
        return member

    async def _ask(self, source: OutputSource, question: Callable[[Backend], Awaitable[T]]) -> T:
        member = self._backend_of(source)
        executor = member.executor
        starting = member.adoption is not None and bool(member.adoption.trouble)
        if executor is None or (executor.circuit is Circuit.OPEN and member.problem) or starting:
            raise Unavailable(f"backend {member.name} cannot be asked now: {member.problem}; try again later")
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await question(executor.backend)
        except NoOutput as none:
            raise NotFound(f"task {source.task} has no logs here: {none.why}") from None
        except KeyError:
            executor.health.succeeded("logs", time.monotonic() - began)
            raise NotFound(f"task {source.task} has no logs: they were removed or never written") from None
        except Exception as error:  # a backend's client may raise anything
            took_s = time.monotonic() - began
            words = executor.cleaned(said(error, took_s))
            log.warning("backend call failed", backend=member.name, call="logs", error=words)
            executor.health.failed("logs", took_s, words)
            raise Unavailable(f"backend {member.name} did not answer: {words}; try again later") from None
        executor.health.succeeded("logs", time.monotonic() - began)
        return found
