"""Routes of workloads: submit, list, look at, cancel."""

import re
import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from pydantic import Field
from starlette.responses import Response

from dovetail.api.body import plane_of, workloads_in
from dovetail.api.description import takes
from dovetail.api.planning import check, plans
from dovetail.api.problems import Problem
from dovetail.api.replies import Json
from dovetail.api.starts import start_of
from dovetail.control.errors import Conflict
from dovetail.model.task import WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Priority, Workload
from dovetail.store.contract import WorkloadFilter

router = APIRouter(prefix="/workloads", tags=["workloads"])

MOST_ROWS = 1000
MAX_ID = 2**62
_KEY = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)
Namespace = Annotated[str, Query(max_length=200)]


class ListQuery(Strict):
    """Which workloads; every condition that is given must hold. `name` is a part of the name."""

    namespace: str | None = None
    state: WorkloadState | None = None
    user: str | None = None
    service: str | None = None
    priority: Priority | None = None
    name: str | None = None
    unfinished: bool = False
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    cursor: str | None = None


def summary_of(row: dict[str, Any]) -> dict[str, Any]:
    """A row as lists show it."""
    return {name: value for name, value in row.items() if name not in ("spec", "shape_json")}


@router.post("", openapi_extra=takes(Workload, many=True), status_code=201)
async def submit(
    request: Request,
    dry_run: bool = False,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Response:
    """Accept work: all of it or none of it, durable when this answers. With `dry_run` only say what would happen."""
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
    return Json({"accepted": accepted}, 201)


@router.get("")
async def workloads(request: Request, query: Annotated[ListQuery, Query()]) -> Response:
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
    return Json({"items": page.items, "cursor": page.cursor})


@router.get("/{ref}")
async def workload(request: Request, ref: str, namespace: Namespace = DEFAULT_NAMESPACE) -> Response:
    """One workload, by id or by name (the newest of that name), with its definition and, while it waits, when it will
    probably start."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    counts = {kind: row[kind] for kind in ("pending", "active", "succeeded", "failed", "cancelled")}
    more = {"spec": row["spec"], "tasks": {"total": row["replicas"], **counts}}
    start = await plane.ask(lambda _: start_of(plane, row["id"], time.time()))
    return Json(summary_of(row) | more | start)


@router.get("/{ref}/tasks")
async def tasks(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Response:
    """Its tasks, by replica."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    return Json({"items": await plane.read(plane.store.tasks, row["id"], limit, offset)})


@router.get("/{ref}/decisions")
async def decisions(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 20,
) -> Response:
    """What was decided about its tasks and why, newest first."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    return Json({"items": await plane.read(plane.store.decisions, row["id"], limit)})


@router.get("/{ref}/history")
async def history(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> Response:
    """What happened to it, oldest first."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    return Json({"items": await plane.read(plane.store.history, row["id"], None, after, limit)})


@router.delete("/{ref}", status_code=202)
async def cancel(
    request: Request,
    ref: str,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Annotated[str, Query(max_length=500)] = "cancelled by a user",
) -> Response:
    """Stop it: what waits is dropped, what runs is told to end. Asking again changes nothing. The name of a group
    stands for all workloads in it."""
    plane = plane_of(request)
    if group := plane.group(namespace, ref):
        await plane.cancel(group, reason)
        return Json({"id": group[0], "namespace": namespace, "name": ref}, 202)
    row = await plane.resolve(ref, namespace)
    if row["finished_at"] is not None:
        raise Problem(409, f"{row['namespace']}/{row['name']} is already finished: it {row['state']}")
    await plane.cancel([row["id"]], reason)
    return Json({name: row[name] for name in ("id", "namespace", "name")}, 202)
