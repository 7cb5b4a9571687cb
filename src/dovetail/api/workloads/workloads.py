"""Routes of workloads: submit, list, inspect, cancel."""

import re
import time
from typing import Annotated, Any, cast

from fastapi import Header, Query, Request
from pydantic import Field

from dovetail.api.protocol.body import plane_of, workloads_in
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.parameters import MAX_ID, MOST_ROWS, Namespace
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import AcceptedJson, CreatedJson, Json
from dovetail.api.questions.planning import check, plans
from dovetail.api.workloads.starts import start_fields
from dovetail.control.errors import Conflict
from dovetail.model.task import WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Priority, Workload
from dovetail.responses import ItemList
from dovetail.responses.decisions import DecisionRow
from dovetail.responses.plans import Plans
from dovetail.responses.system import HistoryRow
from dovetail.responses.workloads import (
    AcceptedWorkload,
    AcceptedWorkloads,
    TaskRow,
    WorkloadDetail,
    WorkloadPage,
    WorkloadRow,
)
from dovetail.store.contract import WorkloadFilter

router = Routes(prefix="/workloads", tags=["workloads"])

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


@router.post("", openapi_extra=takes(Workload, many=True))
async def submit(
    request: Request,
    dry_run: bool = False,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> CreatedJson[AcceptedWorkloads] | Json[Plans]:
    """Accept work: all of it or none of it, durable when this answers (201). `dry_run` only plans it (200)."""
    if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
        words = "an idempotency key is 1 to 200 printable ASCII characters without spaces"
        raise Invalid([Complaint("header", None, "Idempotency-Key", words)])
    specs = await workloads_in(request)
    plane = plane_of(request)
    if dry_run:
        check(plane, specs)
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
    where = WorkloadFilter(
        namespace=query.namespace,
        state=query.state,
        user=query.user,
        service=query.service,
        priority=query.priority,
        name_contains=query.name,
        unfinished=query.unfinished,
    )
    try:
        page = await plane.read(plane.store.workloads, where, query.limit, query.cursor)
    except ValueError as error:
        raise Invalid([Complaint("query parameter", None, "cursor", str(error))]) from None
    return Json({"items": cast("list[WorkloadRow]", page.items), "cursor": page.cursor})


@router.get("/{ref}")
async def workload(request: Request, ref: str, namespace: Namespace = DEFAULT_NAMESPACE) -> Json[WorkloadDetail]:
    """One workload, by id or by name (the newest of that name), with its definition; while it waits, also when it will
    probably start."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    summary = summary_of(row)
    start = await plane.ask(lambda _: plane.questions.plans.start(row["id"], time.time()))
    return Json(
        {
            **summary,
            "spec": row["spec"],
            "tasks": {
                "total": summary["replicas"],
                "pending": summary["pending"],
                "active": summary["active"],
                "succeeded": summary["succeeded"],
                "failed": summary["failed"],
                "cancelled": summary["cancelled"],
            },
            **start_fields(start),
        }
    )


@router.get("/{ref}/tasks")
async def tasks(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Json[ItemList[TaskRow]]:
    """Its tasks, by replica."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    return Json({"items": cast("list[TaskRow]", await plane.read(plane.store.tasks, row["id"], limit, offset))})


@router.get("/{ref}/decisions")
async def decisions(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 20,
) -> Json[ItemList[DecisionRow]]:
    """The decisions about its tasks, with their reasons, newest first."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    return Json({"items": cast("list[DecisionRow]", await plane.read(plane.store.decisions, row["id"], limit))})


@router.get("/{ref}/history")
async def history(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> Json[ItemList[HistoryRow]]:
    """What happened to it, oldest first."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    rows = await plane.read(plane.store.history, row["id"], None, after, limit)
    return Json({"items": cast("list[HistoryRow]", rows)})


@router.delete("/{ref}")
async def cancel(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Annotated[str, Query(max_length=500)] = "cancelled by a user",
) -> AcceptedJson[AcceptedWorkload]:
    """Cancel it: pending tasks are dropped, running tasks are stopped. Asking again changes nothing.

    The name of a group stands for all its workloads.
    """
    plane = plane_of(request)
    if group := plane.questions.workloads.group(namespace, ref):
        await plane.cancel(group, reason)
        return AcceptedJson({"id": group[0], "namespace": namespace, "name": ref})
    row = await plane.resolve(ref, namespace)
    if row["finished_at"] is not None:
        raise HttpProblem(409, f"{row['namespace']}/{row['name']} is already finished: it {row['state']}")
    await plane.cancel([row["id"]], reason)
    return AcceptedJson({"id": row["id"], "namespace": row["namespace"], "name": row["name"]})
