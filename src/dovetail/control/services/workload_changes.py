"""Changes to many workloads, or to those that have ended, for the API: cancel a selection, run failed tasks again.

Guarantees: a change is durable when its method returns, and the answer says exactly what was changed.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from dovetail.control.errors import Conflict
from dovetail.control.loop.inbox import Apply
from dovetail.control.loop.store_access import on_store_thread
from dovetail.engine.questions.workload_questions import WorkloadQuestions
from dovetail.model.event import CancelAsked, RetryAsked
from dovetail.model.record import RestoredWorkload, TaskRecord, WorkloadRecord
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.store.contract import Store, WorkloadFilter

_PAGE = 1000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkloadSelection:
    """Unfinished workloads for which everything that is given holds. `match`: a pattern of names such as `train-*`;
    `queue`: a path, which stands for the queues below it as well."""

    namespace: str | None = None
    match: str | None = None
    user: str | None = None
    state: str | None = None
    queue: str | None = None


class WorkloadChanges:
    def __init__(self, store: Store, live: WorkloadQuestions, apply: Apply) -> None:
        self._store, self._live, self._apply = store, live, apply

    async def selected(self, wanted: WorkloadSelection) -> list[Row]:
        """Oldest first."""
        where = WorkloadFilter(namespace=wanted.namespace, user=wanted.user, state=wanted.state, unfinished=True)
        found: list[Row] = []
        cursor: str | None = None
        while True:
            page = await on_store_thread(self._store.workloads, where, _PAGE, cursor)
            found += [row for row in page.items if self._is_meant(row, wanted)]
            cursor = page.cursor
            if cursor is None:
                return found[::-1]

    def _is_meant(self, row: Row, wanted: WorkloadSelection) -> bool:
        if wanted.match is not None and not fnmatchcase(row["name"], wanted.match):
            return False
        live = self._live.get(row["id"])
        if live is None:  # it has just ended
            return False
        return wanted.queue is None or f"{live.queue}/".startswith(f"{wanted.queue.strip('/')}/")

    async def cancel(self, workloads: list[int], reason: str) -> list[int]:
        """Those that had not ended."""
        live = [id_ for id_ in workloads if id_ in self._live]
        if live:
            await self._apply([CancelAsked(id_, reason) for id_ in live])
        return live

    async def retry(self, row: Row, reason: str) -> list[int]:
        """Let its failed tasks run again; returns their numbers. Raises Conflict where there is nothing to do, or where
        it cannot be done."""
        name, ended = f"{row['namespace']}/{row['name']}", row["finished_at"] is not None
        tasks = await on_store_thread(self._store.tasks, row["id"], row["replicas"], 0)
        again = [task["replica"] for task in tasks if _runs_again(task, row)]
        if not again:
            raise Conflict(f"no task of {name} has failed: it is {row['state']}; to run it once more, submit it again")
        if ended and (row["spec"].get("gang") or {}).get("group"):
            words = f"{name} belongs to group {row['spec']['gang']['group']}, whose tasks start together"
            raise Conflict(f"{words}; submit the whole group again")
        await self._apply([RetryAsked(row["id"], reason, _as_it_ended(row, tasks) if ended else None)])
        if row["id"] not in self._live:
            raise Conflict(
                f"another workload is called {name} now; cancel that one, or submit this one by another name"
            )
        return again


def _runs_again(task: Row, workload: Row) -> bool:
    """It failed, or was stopped because others of its workload failed."""
    state = TaskState(task["state"])
    stopped = state is TaskState.CANCELLED and WorkloadState(workload["state"]) is WorkloadState.FAILED
    return state is TaskState.FAILED or stopped


def _as_it_ended(row: Row, tasks: list[Row]) -> RestoredWorkload:
    return RestoredWorkload(
        id=row["id"],
        namespace=row["namespace"],
        name=row["name"],
        priority=row["priority"],
        replicas=row["replicas"],
        shape_json=row["shape_json"],
        submitted_at=row["submitted_at"],
        record=WorkloadRecord(row["id"], WorkloadState(row["state"]), started_at=row["started_at"]),
        tasks=[_task_record(task) for task in tasks],
    )


def _task_record(row: Row) -> TaskRecord:
    task, state = TaskId(row["workload"], row["replica"]), TaskState(row["state"])
    return TaskRecord(task, state, row["attempt"], reason=row["reason"], message=row["message"])
