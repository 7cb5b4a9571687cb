"""Logs of tasks: found by workload and replica, read from the backend that ran the latest attempt.

Guarantees: every failure has a message for the user who waits. Where the backend cannot be asked (out of reach, too
slow, starting, breaker open, whatever its client raises) that is `Unavailable`, without the secrets of its settings.
Queries count for its health but not for its breaker: a failing query says little of commands.
"""

import asyncio
import time
from typing import Any

import structlog

from dovetail.backends.contract import LogChunk
from dovetail.control.backends.breaker import Circuit
from dovetail.control.backends.execution import said
from dovetail.control.backends.roster import Backends, Member
from dovetail.control.errors import NotFound, Unavailable
from dovetail.control.loop.store_access import on_store_thread
from dovetail.model.command import attempt_key
from dovetail.model.task import TaskId, TaskState
from dovetail.store.contract import Store

log = structlog.get_logger()


class TaskOutput:
    def __init__(self, store: Store, backends: Backends, timeout_s: float) -> None:
        self._store, self._backends, self._timeout_s = store, backends, timeout_s

    async def read(self, workload: int, replica: int, offset: int, limit: int) -> LogChunk:
        """Output of the task's latest attempt. Raises NotFound where there is none, Unavailable where its backend
        cannot say now."""
        rows = await on_store_thread(self._store.tasks, workload, 1, replica)
        if not rows or rows[0]["replica"] != replica:
            raise NotFound(f"workload {workload} has no replica {replica}")
        task = TaskId(workload, replica)
        member, key = self._backend_of(task, rows[0]), attempt_key(task, rows[0]["attempt"])
        try:
            return await self._ask(member, key, offset, limit)
        except KeyError:
            raise NotFound(f"task {task} has no logs: they were removed or never written") from None

    def _backend_of(self, task: TaskId, row: dict[str, Any]) -> Member:
        if not row["attempt"] or row["backend"] is None:
            yet = "" if TaskState(row["state"]).finished else " yet"
            raise NotFound(f"task {task} has no logs{yet}: it is {row['state']}")
        member = self._backends.members.get(row["backend"])
        if member is None:
            raise NotFound(f"task {task} has no logs any more: backend {row['backend']}, which ran it, is not there")
        if member.executor is not None and not member.executor.backend.capabilities.logs:
            raise NotFound(f"task {task} has no logs here: backend {member.name} keeps none; look at its node")
        return member

    async def _ask(self, member: Member, key: str, offset: int, limit: int) -> LogChunk:
        """Raises KeyError for an unknown task."""
        executor = member.executor
        starting = member.adoption is not None and bool(member.adoption.trouble)
        if executor is None or (executor.circuit is Circuit.OPEN and member.problem) or starting:
            raise Unavailable(f"backend {member.name} cannot be asked now: {member.problem}; try again later")
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                chunk = await executor.backend.logs(key, offset, limit)
        except KeyError:
            executor.health.succeeded("logs", time.monotonic() - began)
            raise
        except Exception as error:  # a backend's client may raise anything
            took_s = time.monotonic() - began
            words = executor.cleaned(said(error, took_s))
            log.warning("backend call failed", backend=member.name, call="logs", error=words)
            executor.health.failed("logs", took_s, words)
            raise Unavailable(f"backend {member.name} did not answer: {words}; try again later") from None
        executor.health.succeeded("logs", time.monotonic() - began)
        return chunk
