"""Changes to many workloads, or to those that have ended, for the API: cancel a selection, run failed tasks again,
stop tasks of others for work that waits.

Guarantees: a change is durable when its method returns, and the answer says exactly what was changed.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from dovetail.control.errors import Conflict
from dovetail.control.loop.inbox import Apply
from dovetail.control.loop.store_access import on_store_thread
from dovetail.engine.pieces import IsSpent, Pieces
from dovetail.engine.questions.plan_questions import Displacement, PlanQuestions
from dovetail.engine.questions.workload_questions import WorkloadQuestions
from dovetail.model.event import CancelAsked, PreemptionAsked, RetryAsked
from dovetail.model.record import RestoredWorkload, TaskRecord, WorkloadRecord
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.store.contract import Store, WorkloadFilter

_PAGE = 1000

Row = dict[str, Any]
_Ask = Callable[[Callable[[IsSpent], Pieces[Any]]], Awaitable[Any]]


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
    def __init__(self, store: Store, live: WorkloadQuestions, plans: PlanQuestions, ask: _Ask, apply: Apply) -> None:
        self._store, self._live, self._plans = store, live, plans
        self._ask, self._apply = ask, apply

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

    async def preemption(self, row: Row, tasks: list[TaskId]) -> Displacement:
        """Whom it would disturb to stop these tasks for a workload that waits. Raises Conflict where that would not
        help, or must not be done."""
        found: Displacement | str = await self._ask(
            lambda _: self._plans.preemption(row["id"], tuple(tasks), time.time())
        )
        if isinstance(found, str):
            raise Conflict(f"nothing can be stopped for {row['namespace']}/{row['name']}: {found}")
        return found

    async def preempt(self, row: Row, wanted: Displacement) -> None:
        """Do it. Raises Conflict if it would not help any more."""
        tasks = tuple(victim.task for victim in wanted.victims)
        await self._apply([PreemptionAsked(row["id"], tasks)])
        held = [self._live.held(task) for task in tasks]
        if any(one is not None and one.state is not TaskState.STOPPING for one in held):
            raise Conflict("the cluster has changed meanwhile, and nothing was stopped; look again what would help")

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
