"""Logs of tasks: found by workload and replica, read from the backend that ran the latest attempt."""

from typing import Any

from dovetail.backends.contract import LogChunk
from dovetail.control.backends.asking import ask
from dovetail.control.backends.roster import Backends, Member
from dovetail.control.errors import NotFound
from dovetail.control.loop.store_threads import on_store_thread
from dovetail.model.command import attempt_key
from dovetail.model.task import TaskId, TaskState
from dovetail.store.contract import Store


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
            return await ask(member, "logs", lambda backend: backend.logs(key, offset, limit), self._timeout_s)
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
