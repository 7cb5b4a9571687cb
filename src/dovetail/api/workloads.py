"""Routes of workloads and their tasks: submit, list, inspect, cancel, read output.

Questions about a workload (why it waits, where it would go) are in `questions`; the order in which workloads are tried
is in `queues`.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, cast

from fastapi import Header, Query, Request
from pydantic import Field

from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Namespace, plane_of, workloads_in
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import AcceptedJson, CreatedJson, Json, PlainText, TextStream, until_closing
from dovetail.api.questions.planning import plans
from dovetail.backends.contract import LogChunk
from dovetail.control.errors import Conflict, ControlError, StoreError, Unavailable
from dovetail.control.plane import ControlPlane
from dovetail.control.services.workload_names import typed
from dovetail.engine.questions.plan_questions import StartGuess
from dovetail.model.backoff import Backoff
from dovetail.model.task import WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import MAX_NAME, Strict
from dovetail.model.workloads.caller import submitted_by
from dovetail.model.workloads.workload import MAX_PATH, Priority, Workload
from dovetail.responses import ItemList
from dovetail.responses.questions import DecisionRow, Plans
from dovetail.responses.system import HistoryRow
from dovetail.responses.workloads import (
    AcceptedWorkload,
    AcceptedWorkloads,
    PredictedStart,
    TaskCounts,
    TaskRow,
    TasksByState,
    WorkloadDetail,
    WorkloadPage,
    WorkloadRow,
)
from dovetail.store.contract import WorkloadFilter

router = Routes(prefix="/workloads", tags=["workloads"])

MOST_BYTES = 1024 * 1024  # of output in one answer
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0  # before a task that runs is asked for more
_KEY = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)


class ListQuery(Strict):
    """Which workloads: every condition that is given must hold. `name` is a part of the name."""

    namespace: str | None = None
    state: WorkloadState | None = None
    user: str | None = None
    service: str | None = None
    priority: Priority | None = None
    name: str | None = None
    unfinished: bool = False
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    cursor: str | None = None


def summary_of(row: dict[str, Any]) -> WorkloadRow:
    """A row of the store as lists show it."""
    shown = {name: value for name, value in row.items() if name not in ("spec", "shape_json")}
    return cast("WorkloadRow", shown)


def start_fields(guess: StartGuess | None) -> PredictedStart:
    """Seconds since the epoch, null where the start cannot be predicted."""
    if guess is None:
        return {"starts_at": None, "starts_early": None, "starts_late": None}
    return {
        "starts_at": round(guess.expected, 3),
        "starts_early": round(guess.early, 3),
        "starts_late": round(guess.late, 3),
    }


@router.post("", openapi_extra=takes(Workload, many=True))
async def submit(
    request: Request,
    dry_run: bool = False,
    user: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    submit_dir: Annotated[str | None, Query(max_length=MAX_PATH)] = None,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> CreatedJson[AcceptedWorkloads] | Json[Plans]:
    """Accept work: all of it or none of it, durable when this answers (201). `dry_run` only plans it (200).

    `user` and `submit_dir`: who submits, and from which directory, for workloads that do not say otherwise. Names and
    directories that a workload cannot have are left out.
    """
    if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
        words = "an idempotency key is 1 to 200 printable ASCII characters without spaces"
        raise Invalid([Complaint("header", None, "Idempotency-Key", words)])
    specs = [submitted_by(spec, user, submit_dir) for spec in await workloads_in(request)]
    plane = plane_of(request)
    if dry_run:
        plane.check(specs)
        await plane.check_now(specs)
        return Json({"plans": await plans(plane, specs)})
    try:
        accepted = await plane.submit(specs, idempotency_key)
    except Conflict:
        if idempotency_key is None:
            raise
        # A request that was sent twice may have met itself: by now the first one's answer is stored under the key.
        accepted = await plane.submit(specs, idempotency_key)
    answer: AcceptedWorkloads = {"accepted": cast("list[AcceptedWorkload]", accepted)}
    return CreatedJson(answer)


@router.get("")
async def workloads(request: Request, query: Annotated[ListQuery, Query()]) -> Json[WorkloadPage]:
    """Workloads, newest first, a page at a time."""
    plane = plane_of(request)
    where = WorkloadFilter(**query.model_dump(exclude={"limit", "cursor"}))
    try:
        page = await plane.read(plane.store.workloads, where, query.limit, query.cursor)
    except ValueError as error:
        raise Invalid([Complaint("query parameter", None, "cursor", str(error))]) from None
    return Json({"items": cast("list[WorkloadRow]", page.items), "cursor": page.cursor})


@router.get("/{ref}")
async def workload(request: Request, ref: str, namespace: Namespace = None) -> Json[WorkloadDetail]:
    """One workload, by id or by name (the newest of that name), with its definition; while it waits, also when it will
    probably start. A name may be written `namespace/name`, with the slash as %2F."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    by_state = {state: row[state] for state in TasksByState.__annotations__}
    start = await plane.ask(lambda _: plane.questions.plans.start(row["id"], time.time()))
    return Json(
        {
            **summary_of(row),
            "spec": row["spec"],
            "tasks": cast("TaskCounts", {"total": row["replicas"], **by_state}),
            **start_fields(start),
        }
    )


@router.get("/{ref}/tasks")
async def tasks(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Json[ItemList[TaskRow]]:
    """Its tasks, by replica. The name of a group stands for all its workloads, `name.3` for one task."""
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    if found.replica is not None:
        rows = await plane.read(plane.store.tasks, found.workloads[0]["id"], 1, found.replica)
        return Json({"items": cast("list[TaskRow]", rows)})
    rows = []
    for row in found.workloads:
        if offset < row["replicas"] and len(rows) < limit:
            rows += await plane.read(plane.store.tasks, row["id"], limit - len(rows), offset)
        offset = max(0, offset - row["replicas"])
    return Json({"items": cast("list[TaskRow]", rows)})


@router.get("/{ref}/decisions")
async def decisions(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 20,
) -> Json[ItemList[DecisionRow]]:
    """The decisions about its tasks, with their reasons, newest first; of a group, about all its workloads."""
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    rows = await plane.read(plane.store.decisions, found.ids, limit, found.replica)
    return Json({"items": cast("list[DecisionRow]", rows)})


@router.get("/{ref}/history")
async def history(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> Json[ItemList[HistoryRow]]:
    """What happened to it, oldest first; of a group, to all its workloads."""
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    rows = await plane.read(plane.store.history, found.ids, None, after, limit, None, found.replica)
    return Json({"items": cast("list[HistoryRow]", rows)})


@router.delete("/{ref}")
async def cancel(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    reason: Annotated[str, Query(max_length=500)] = "cancelled by a user",
) -> AcceptedJson[AcceptedWorkload]:
    """Cancel it: pending tasks are dropped, running tasks are stopped. Asking again changes nothing.

    The name of a group stands for all its workloads.
    """
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    first = found.workloads[0]
    if found.replica is not None:
        raise HttpProblem(409, f"one task cannot be cancelled alone; cancel the whole workload: {typed(first)}")
    unfinished = [row["id"] for row in found.workloads if row["finished_at"] is None]
    if not unfinished:
        raise HttpProblem(409, f"{first['namespace']}/{first['name']} is already finished: it {first['state']}")
    await plane.cancel(unfinished, reason)
    name = found.group or first["name"]
    return AcceptedJson({"id": unfinished[0], "namespace": first["namespace"], "name": name})


@router.get("/{ref}/logs")
async def logs(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    replica: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_BYTES)] = 65536,
    follow: bool = False,
) -> PlainText | TextStream:
    """Output of a task's latest attempt from a byte offset. With `follow`, a stream until the task ends. The task is
    named as in `train.3`, or by `replica`; otherwise it is the first.

    The headers X-Next-Offset and X-Ended say where to go on, and whether the task has ended.
    """
    plane = plane_of(request)
    row, named = await plane.names.one(ref, namespace)
    replica = replica if replica is not None else named or 0
    chunk = await plane.output.read(row["id"], replica, offset, limit)
    if follow:
        return TextStream(until_closing(request, _following(plane, row["id"], replica, chunk)))
    headers = {"X-Next-Offset": str(chunk.next_offset), "X-Ended": "true" if chunk.ended else "false"}
    return PlainText(chunk.text, headers=headers)


async def _following(plane: ControlPlane, workload: int, replica: int, chunk: LogChunk) -> AsyncIterator[str]:
    backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while True:
        if chunk.text:
            yield chunk.text
            backoff.reset()
        if chunk.ended:
            return
        if not chunk.text:
            await asyncio.sleep(backoff.next_s())
        offset = chunk.next_offset
        try:
            chunk = await plane.output.read(workload, replica, offset, MOST_BYTES)
        except Unavailable:  # its backend does not answer: go on reading when it does
            chunk = LogChunk("", offset, ended=False)
        except (ControlError, StoreError):
            return  # it was removed, or the server stops
