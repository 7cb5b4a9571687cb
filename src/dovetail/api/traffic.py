"""The route of traffic: who exchanges how much with whom."""

from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import MOST_ROWS, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.control.services.traffic import TrafficPair
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses import ItemList
from dovetail.responses.traffic import TrafficRow
from dovetail.traffic.matrix import OUTSIDE, Name

router = Routes(prefix="/traffic", tags=["network"])


def _typed(name: Name) -> str:
    return name[1] if name[0] == DEFAULT_NAMESPACE else f"{name[0]}/{name[1]}"


def _row(pair: TrafficPair) -> TrafficRow:
    return {
        "namespace": pair.source[0],
        "source": _typed(pair.source),
        "target": None if pair.target == OUTSIDE else _typed(pair.target),
        "observed_mbps": None if pair.observed is None else round(pair.observed, 3),
        "declared_mbps": pair.declared,
        "distance": None if pair.distance is None else round(pair.distance, 1),
        "suggestion": pair.suggestion,
    }


@router.get("")
async def traffic(
    request: Request, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100
) -> Json[ItemList[TrafficRow]]:
    """Traffic between workloads and services, as declared and as machines have counted it, busiest first."""
    plane = plane_of(request)
    found = await plane.ask(lambda _: plane.traffic.pairs(limit))
    return Json({"items": [_row(pair) for pair in found]})
