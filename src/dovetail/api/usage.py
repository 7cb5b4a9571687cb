"""What workloads used: how long they ran, and the route that adds up CPU-hours and GPU-hours, as accounting needs it.

An hour counts for a workload while one of its tasks runs, for each of its tasks: two tasks of four cores that run for
one hour are eight CPU-hours. Time between attempts, and time in the queue, is not counted.
"""

import math
import time
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict, cast

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import MOST_ROWS, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.model.resources import CPU, GPU
from dovetail.model.task import WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict
from dovetail.responses.workloads import UsagePage, UsageRow, UsageTotal
from dovetail.store.contract import UsageFilter, UsageTotals

router = Routes(tags=["workloads"])

_HOUR_S = 3600.0
_MILLI = 1000.0
Moment = Annotated[float, Field(ge=0, le=1e12)]


class TimeRan(TypedDict):
    """The fields of a workload that say how long it ran."""

    ran_s: float
    running_since: float | None


class UsageQuery(Strict):
    """Workloads that waited or ran at some time between `since` and `until` (seconds since the epoch). Every condition
    that is given must hold. `name` is a part of the name. `truncate`: count only what was used in that time."""

    since: Moment = 0.0
    until: Moment | None = None
    namespace: str | None = None
    user: str | None = None
    queue: str | None = None
    state: WorkloadState | None = None
    name: str | None = None
    truncate: bool = False
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    cursor: str | None = None


@router.get("/usage")
async def usage(request: Request, query: Annotated[UsageQuery, Query()]) -> Json[UsagePage]:
    """Workloads with the CPU-hours and GPU-hours that they used, newest first, a page at a time; and the total of all
    pages."""
    plane, now = plane_of(request), time.time()
    where = UsageFilter(**query.model_dump(exclude={"limit", "cursor"}, exclude_none=True))
    try:
        page = await plane.read(plane.store.usage, where, query.limit, query.cursor, now)
    except ValueError as error:
        raise Invalid([Complaint("query parameter", None, "cursor", str(error))]) from None
    total = await plane.read(plane.store.usage_totals, where, now)
    spans = await plane.read(plane.store.run_spans, [row["id"] for row in page.items])
    items = [_row(row, run_time(row, spans.get(row["id"])), now) for row in page.items]
    return Json({"items": items, "cursor": page.cursor, "total": _total(total)})


def _row(row: dict[str, Any], ran: TimeRan, now: float) -> UsageRow:
    amounts, task_s = row.pop("amounts"), row.pop("task_s")
    waited_until = next((at for at in (row["started_at"], row["finished_at"]) if at is not None), now)
    used = {
        **ran,
        "cpu": amounts.get(CPU, 0) / _MILLI,
        "gpu": amounts.get(GPU, 0) / _MILLI,
        "waited_s": round(max(0.0, waited_until - row["submitted_at"]), 3),
        "cpu_hours": _hours(amounts, CPU, task_s),
        "gpu_hours": _hours(amounts, GPU, task_s),
    }
    return cast("UsageRow", row | used)


def _total(found: UsageTotals) -> UsageTotal:
    return {
        "workloads": found.workloads,
        "attempts": found.attempts,
        "cpu_hours": round(sum(_hours(amounts, CPU, task_s) for amounts, task_s in found.task_s), 6),
        "gpu_hours": round(sum(_hours(amounts, GPU, task_s) for amounts, task_s in found.task_s), 6),
    }


def _hours(amounts: dict[str, int], resource: str, task_s: float) -> float:
    return round(amounts.get(resource, 0) / _MILLI * task_s / _HOUR_S, 6)


def run_time(row: dict[str, Any], spans: Iterable[tuple[float, float | None]] | None) -> TimeRan:
    """How long a workload ran, and since when it runs. `spans`: when its tasks ran, known where some were tried more
    than once; the times at which none of them ran are then left out."""
    if row["started_at"] is None:
        return {"ran_s": 0.0, "running_since": None}
    if spans is None:
        spans = [(row["started_at"], row["finished_at"])]
    joined: list[tuple[float, float]] = []
    for start, end in sorted((start, math.inf if end is None else end) for start, end in spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    running_since = joined.pop()[0] if joined and joined[-1][1] == math.inf else None
    return {"ran_s": round(sum(end - start for start, end in joined), 3), "running_since": running_since}
