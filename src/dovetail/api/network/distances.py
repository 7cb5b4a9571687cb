"""Routes of distances between nodes: those that were set by hand, and how far any two nodes are from each other."""

from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import SOURCE, content_in, is_csv, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json, PlainText
from dovetail.control.services.network import NetworkService
from dovetail.model.network.distance_list import NodeDistances, read_distances, write_distances
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import decode
from dovetail.responses import ItemList
from dovetail.responses.network import ClearedDistances, DistanceBetween, NodeDistance, SetDistances

router = Routes(prefix="/distances", tags=["network"])

NodeOf = Annotated[str | None, Query(max_length=300)]


class CsvText(PlainText):
    media_type = "text/csv"


@router.get("")
async def distances(
    request: Request,
    start: Annotated[NodeOf, Query(alias="from")] = None,
    end: Annotated[NodeOf, Query(alias="to")] = None,
    of: Annotated[str, Query(alias="format", pattern="^(json|csv)$")] = "json",
) -> Json[ItemList[NodeDistance]] | Json[DistanceBetween] | CsvText:
    """The distances that were set by hand, as JSON or CSV; with `from` and `to`, how far these nodes are and why."""
    plane, pair = plane_of(request), _pair(start, end)
    if pair is not None:
        return Json(_apart(plane.network, *pair))
    found = plane.questions.network.set_distances
    if of == "csv":
        return CsvText(write_distances(found))
    items: list[NodeDistance] = [{"from": a, "to": b, "distance": d} for a, b, d in found]
    return Json(ItemList(items=items))


@router.put("", openapi_extra=takes(NodeDistances, text=("text/csv",)))
async def set_distances(request: Request) -> Json[SetDistances]:
    """Set distances between nodes, in both directions: `{"items": [{"from": "n1", "to": "n2", "distance": 25}]}`, or
    CSV with the header from,to,distance. Others stay as they are."""
    if is_csv(request):
        items = read_distances(decode(await content_in(request), SOURCE), SOURCE)
    else:
        items = (await model_in(request, NodeDistances)).items
    await plane_of(request).network.set_distances([(one.start, one.end, one.distance) for one in items])
    return Json({"set": len(items)})


@router.delete("")
async def clear_distances(
    request: Request,
    start: Annotated[NodeOf, Query(alias="from")] = None,
    end: Annotated[NodeOf, Query(alias="to")] = None,
) -> Json[ClearedDistances]:
    """Clear the distance between two nodes with `from` and `to`, otherwise all that were set."""
    network, pair = plane_of(request).network, _pair(start, end)
    if pair is None:
        return Json({"cleared": await network.clear_distances()})
    await network.unset_distance(*pair)
    return Json({"cleared": 1})


def _pair(start: str | None, end: str | None) -> tuple[str, str] | None:
    """Both ends or none. Raises Invalid for one alone."""
    if start is not None and end is not None:
        return start, end
    if start is None and end is None:
        return None
    raise Invalid([Complaint("query parameter", None, "to" if end is None else "from", "is missing")])


def _apart(network: NetworkService, start: str, end: str) -> DistanceBetween:
    found = network.apart(start, end)
    path = found.path if start != end else None
    return {
        "from": start,
        "to": end,
        "distance": round(found.distance, 3),
        "by_hand": found.by_hand,
        "level": found.level,
        "path": None
        if path is None
        else {
            "hops": path.hops,
            "latency_us": path.latency_us,
            "mbps": path.mbps,
            "headroom_mbps": path.headroom_mbps,
            "loss": path.loss,
        },
    }
