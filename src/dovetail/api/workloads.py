"""Routes of workloads and their tasks: submit, list, inspect, cancel.

Questions about a workload (why it waits, where it would go) are in `questions`; the order in which workloads are tried
is in `queues`.
"""

import re
import time
from functools import partial
from typing import Annotated, Any, Literal, cast

from fastapi import Header, Query, Request
from pydantic import Field, field_validator

from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Namespace, digest_of, plane_of, workloads_in
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import AcceptedJson, CreatedJson, Json
from dovetail.api.protocol.row_list import SortedBy
from dovetail.api.questions.planning import plans
from dovetail.api.system.event_pages import history_page
from dovetail.api.task_use import with_use
from dovetail.api.usage import run_time
from dovetail.control.errors import Conflict
from dovetail.control.loop.idempotency import IdempotencyKey
from dovetail.control.plane import ControlPlane
from dovetail.control.services.workload_names import typed
from dovetail.engine.questions.plan_questions import StartGuess
from dovetail.model.record import RequestTrace
from dovetail.model.task import TaskState, WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import MAX_NAME, Strict, closest, shown
from dovetail.model.workloads.caller import submitted_by
from dovetail.model.workloads.run import MAX_PATH
from dovetail.model.workloads.workload import Priority, Workload
from dovetail.responses.questions import DecisionPage, DecisionRow, Plans
from dovetail.responses.system import HistoryPage
from dovetail.responses.workloads import (
    AcceptedWorkload,
    AcceptedWorkloads,
    AttemptPage,
    AttemptRow,
    PredictedStart,
    TaskCounts,
    TaskPage,
    TaskRow,
    TasksByState,
    WorkloadDetail,
    WorkloadPage,
    WorkloadRow,
)
from dovetail.store.contract import WORKLOAD_SORTS, DecisionPlace, EventFilter, WorkloadFilter

router = Routes(prefix="/workloads", tags=["workloads"])

_CURSOR = "{at!r}/{workload}/{replica}/{attempt}"
WorkloadSort = Annotated[str, SortedBy(WORKLOAD_SORTS)]
_KEY = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)


class ListQuery(Strict):
    """Which workloads: every condition that is given must hold. `state`: one of these, divided by commas or given
    again. `name` and `search` are parts of the name; `queue` is meant with those below it."""

    namespace: str | None = None
    state: list[str] = []
    user: str | None = None
    service: str | None = None
    priority: Priority | None = None
    name: str | None = None
    search: Annotated[str | None, Field(max_length=200)] = None
    queue: Annotated[str | None, Field(max_length=1000)] = None
    unfinished: bool = False
    sort: WorkloadSort | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    cursor: str | None = None
    counts: bool = True

    @field_validator("state")
    @classmethod
    def _known_states(cls, given: list[str]) -> list[str]:
        words = [word.strip() for one in given for word in one.split(",") if word.strip()]
        known = [str(state) for state in WorkloadState]
        for word in words:
            if word not in known:
                raise ValueError(
                    f"{shown(word)} is not accepted.{closest(word, known)} Write one of: {', '.join(known)}"
                )
        return words

    def filter(self) -> WorkloadFilter:
        return WorkloadFilter(
            namespace=self.namespace,
            states=tuple(self.state),
            user=self.user,
            service=self.service,
            priority=self.priority,
            name=self.search or self.name,
            unfinished=self.unfinished,
            queue=self.queue,
        )


async def summaries_of(plane: ControlPlane, rows: list[dict[str, Any]]) -> list[WorkloadRow]:
    """Rows of the store as lists show them."""
    spans = await plane.read(plane.store.run_spans, [row["id"] for row in rows if row["started_at"] is not None])
    now = time.time()
    shown = [{name: value for name, value in row.items() if name not in ("spec", "shape_json")} for row in rows]
    return [
        cast("WorkloadRow", {**row, **_waits_for(plane, row, now), **run_time(row, spans.get(row["id"]))})
        for row in shown
    ]


def _waits_for(plane: ControlPlane, row: dict[str, Any], now: float) -> dict[str, str]:
    """Why some of its tasks wait, where nothing refused them: its own limit, its group, the pause after a failure."""
    if row["finished_at"] is not None or row["message"]:
        return {}
    why = plane.questions.queues.wait_reason(row["id"], now)
    return {} if why is None or not why.message else {"reason": why.reason, "message": why.message}


def start_fields(guess: StartGuess | None) -> PredictedStart:
    """Seconds since the epoch, null where the start cannot be predicted."""
    if guess is None:
        return {"starts_at": None, "starts_early": None, "starts_late": None}
    return {
        "starts_at": round(guess.expected, 3),
        "starts_early": round(guess.early, 3),
        "starts_late": round(guess.late, 3),
    }


@router.post("", openapi_extra=takes(Workload, many="workloads"))
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
    plane = plane_of(request)
    trace = None if plane.traces is None else RequestTrace(request.headers.get("traceparent", ""), time.time())
    if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
        words = "an idempotency key is 1 to 200 printable ASCII characters without spaces"
        raise Invalid([Complaint("header", None, "Idempotency-Key", words)])
    specs = [submitted_by(spec, user, submit_dir) for spec in await workloads_in(request)]
    key = None if idempotency_key is None else IdempotencyKey(idempotency_key, digest_of(request))
    if dry_run:
        await plane.check(specs)
        await plane.workloads.check_now(specs)
        return Json({"plans": await plans(plane, specs)})
    try:
        accepted = await plane.submit(specs, key, trace=trace)
    except Conflict:
        if key is None:
            raise
        # A request that was sent twice may have met itself: by now the first one's answer is stored under the key.
        accepted = await plane.submit(specs, key, trace=trace)
    answer: AcceptedWorkloads = {"accepted": cast("list[AcceptedWorkload]", accepted)}
    return CreatedJson(answer)


@router.get("")
async def workloads(request: Request, query: Annotated[ListQuery, Query()]) -> Json[WorkloadPage]:
    """Workloads, newest first, a page at a time. `sort`: by name, namespace, queue, submitted, state, wait or priority,
    with `-` before it in descending order. `offset` leaves out so many; `cursor` goes on after a page. `counts=false`
    spares counting them."""
    plane = plane_of(request)
    where = query.filter()
    sort = query.sort or ""
    try:
        page = await plane.read(
            plane.store.workloads, where, query.limit, query.cursor, sort, query.offset, time.time()
        )
    except ValueError as error:
        raise Invalid([Complaint("query parameter", None, "cursor", str(error))]) from None
    answer: WorkloadPage = {"items": await summaries_of(plane, page.items), "cursor": page.cursor}
    if query.counts:
        counts = await plane.read(plane.store.workload_counts, where)
        wanted = _wanted_states(where)
        answer |= {"counts": counts, "total": sum(number for state, number in counts.items() if state in wanted)}
    return Json(answer)


def _wanted_states(where: WorkloadFilter) -> set[str]:
    wanted = set(where.states) or {str(state) for state in WorkloadState}
    return {word for word in wanted if not where.unfinished or not WorkloadState(word).finished}


@router.get("/{ref}")
async def workload(request: Request, ref: str, namespace: Namespace = None) -> Json[WorkloadDetail]:
    """One workload, by id or by name (the newest of that name), with its definition; while it waits, also when it will
    probably start. A name may be written `namespace/name`, with the slash as %2F."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    by_state = {state: row[state] for state in TasksByState.__annotations__}
    [summary] = await summaries_of(plane, [row])
    start = await plane.ask(lambda _: plane.questions.plans.start(row["id"], time.time()))
    placed_at = await plane.read(plane.store.first_placed, row["id"])
    bound_at = None if placed_at is None else await plane.read(plane.store.first_accepted, row["id"])
    if bound_at is not None and row["started_at"] is not None and bound_at > row["started_at"]:
        bound_at = None  # of a later attempt, or of work that ran before this server knew it
    return Json(
        {
            **summary,
            "spec": row["spec"],
            "tasks": cast("TaskCounts", {"total": row["replicas"], **by_state}),
            "placed_at": placed_at,
            "bound_at": bound_at,
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
    state: TaskState | None = None,
    order: Literal["replica", "unusual"] = "replica",
) -> Json[TaskPage]:
    """Its tasks, by replica. The name of a group stands for all its workloads, `name.3` for one task.

    With `state`, or `order=unusual`, the failed ones of one workload come first, then those that stop, were retried or
    start, and the successful ones last; newest first among equals.
    """
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    first = found.workloads[0]
    if found.replica is not None:
        rows = await plane.read(plane.store.tasks, first["id"], 1, found.replica)
        return Json({"items": cast("list[TaskRow]", with_use(plane, rows)), "total": len(rows)})
    if state is None and order == "replica":
        rows = []
        for row in found.workloads:
            if offset < row["replicas"] and len(rows) < limit:
                rows += await plane.read(plane.store.tasks, row["id"], limit - len(rows), offset)
            offset = max(0, offset - row["replicas"])
        total = sum(row["replicas"] for row in found.workloads)
        return Json({"items": cast("list[TaskRow]", with_use(plane, rows)), "total": total})
    row, _ = await plane.names.one(ref, namespace)
    ordered = await plane.read(plane.store.unusual_tasks, row["id"], limit, offset, state)
    return Json({"items": cast("list[TaskRow]", with_use(plane, ordered.items)), "total": ordered.total})


@router.get("/{ref}/attempts")
async def attempts(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    replica: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    repeated: bool = False,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Json[AttemptPage]:
    """Every attempt to run its tasks, newest first: where it ran, from when until when, and how it ended. `repeated`:
    only of tasks that were tried or moved more than once."""
    plane = plane_of(request)
    row, named = await plane.names.one(ref, namespace)
    task = named if replica is None else replica
    found = await plane.read(partial(plane.store.attempts, row["id"], limit, offset, task, repeated=repeated))
    return Json({"items": cast("list[AttemptRow]", found.items), "total": found.total})


@router.get("/{ref}/decisions")
async def decisions(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 20,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Json[DecisionPage]:
    """The decisions about its tasks, with their reasons, newest first; of a group, about all its workloads. Go on with
    `cursor`."""
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    before = None if cursor is None else _decision_place(cursor)
    rows = await plane.read(plane.store.decisions, found.ids, limit + 1, found.replica, before)
    rows, more = rows[:limit], len(rows) > limit
    following = _CURSOR.format_map(rows[-1]) if more else None
    return Json({"items": cast("list[DecisionRow]", rows), "cursor": following})


def _decision_place(cursor: str) -> DecisionPlace:
    try:
        at, workload, replica, attempt = cursor.split("/")
        return DecisionPlace(float(at), int(workload), int(replica), int(attempt))
    except ValueError:
        words = f"{cursor[:40]!r} is not a cursor that a page gave; leave it out to start from the newest"
        raise Invalid([Complaint("query parameter", None, "cursor", words)]) from None


@router.get("/{ref}/history")
async def history(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    before: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    newest: bool = False,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> Json[HistoryPage]:
    """What happened to it, oldest first, or `newest` first: a page of the lines after and before these `seq`; of a
    group, to all its workloads."""
    plane = plane_of(request)
    found = await plane.names.find(ref, namespace)
    where = EventFilter(found.ids, found.replica)
    return Json(await history_page(plane, where, limit, after, before, newest_first=newest))


@router.delete("/{ref}")
async def cancel(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    reason: Annotated[str, Query(max_length=500)] = "cancelled by a user",
    force: bool = False,
) -> AcceptedJson[AcceptedWorkload]:
    """Cancel it: pending tasks are dropped, running tasks are stopped. Asking again changes nothing, but with `force`
    tasks are killed, without the grace period of the workload.

    The name of a group stands for all its workloads; that of a service removes the service.
    """
    plane = plane_of(request)
    if (service := await plane.services.find(ref, namespace)) is not None:
        record = service.record
        if not record.removed:
            await plane.services.remove(record.name, record.namespace)
        newest = max((one.workload for one in service.replicas), default=0)
        return AcceptedJson({"id": newest, "namespace": record.namespace, "name": record.name})
    found = await plane.names.find(ref, namespace)
    first = found.workloads[0]
    if found.replica is not None:
        raise HttpProblem(409, f"one task cannot be cancelled alone; cancel the whole workload: {typed(first)}")
    unfinished = [row["id"] for row in found.workloads if row["finished_at"] is None]
    if not unfinished:
        raise HttpProblem(409, f"{first['namespace']}/{first['name']} is already finished: it {first['state']}")
    await plane.workloads.cancel(unfinished, reason)
    if force:
        await plane.commands.kill(unfinished, reason)
    name = found.group or first["name"]
    return AcceptedJson({"id": unfinished[0], "namespace": first["namespace"], "name": name})
