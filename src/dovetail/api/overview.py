"""Routes of an overview: how the cluster was over time, and what needs a person now."""

import time
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.control.trends.down_sampling import TIERS, window
from dovetail.control.trends.node_series import NODE_SERIES
from dovetail.control.trends.series import answer_of
from dovetail.responses.attention import AttentionAnswer
from dovetail.responses.trends import TrendAnswer

router = Routes(tags=["system"])

MOST_POINTS = 2000


@router.get("/trends")
async def trends(
    request: Request,
    since: Annotated[float, Query(ge=10, le=TIERS[-1].keep_s, description="so many seconds ago")] = 3600,
    points: Annotated[int, Query(ge=1, le=MOST_POINTS, description="the most values of a series")] = 180,
    series: Annotated[str, Query(max_length=1000, description="names, divided by commas; all if left out")] = "",
    node: Annotated[str | None, Query(max_length=300, description="of this node instead of the cluster")] = None,
) -> Json[TrendAnswer]:
    """How the cluster was: use by resource, fragmentation, waiting work, decisions, failures.

    Kept by this server: every 10 seconds for an hour, every minute for a day, every 15 minutes for 30 days. A value is
    null where nothing was recorded. `series` names series (`cpu`, `gpu_allocated`, `waiting`, …) and groups
    (`waiting_by_queue`, `use_by_domain`).

    With `node`: the shares of its CPU, memory and GPUs that are requested (`cpu`, …) and, where it measures them, in
    use (`cpu_observed`, …). Kept every minute for an hour and every 15 minutes for seven days.
    """
    plane = plane_of(request)
    names = [name.strip() for name in series.split(",") if name.strip()]
    if node is not None:
        plane.nodes.must_exist(node)
        steps = window(time.time(), since, points, NODE_SERIES.tiers)
        return Json(NODE_SERIES.answer(await plane.read(plane.trends.nodes.read, steps, node.__eq__), names))
    return Json(answer_of(await plane.read(plane.trends.read, window(time.time(), since, points)), names))


@router.get("/attention")
async def attention(request: Request) -> Json[AttentionAnswer]:
    """What needs a person, the worst first, each with its next step: nodes that do not answer or are in quarantine,
    backends and subsystems in trouble, gangs that wait although enough GPUs are free, work that fits on no node, starts
    that are overdue, budgets, updates that are stuck, unusually many failures. Looked at every few seconds at most."""
    return Json(await plane_of(request).attention.answer())
