"""Routes of the network: its topology, the domains of its levels, distances between nodes."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from dovetail.api.body import SOURCE, content_in, is_csv, model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.replies import Json, Text
from dovetail.control.services.network import NetworkService
from dovetail.engine.questions.questions import DomainUse, LevelState
from dovetail.model.network.distance_list import NodeDistances, read_distances, write_distances
from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.resources import ResourceRequest as TaskRequest
from dovetail.model.resources import show_amount
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import decode
from dovetail.model.text.quantity import format_bandwidth, format_latency

router = APIRouter(tags=["network"])

MOST_STRANGERS = 20
LevelName = Annotated[str | None, Query(max_length=300, description="one level; left out, all of them, widest first")]
NodeOf = Annotated[str | None, Query(max_length=300)]
Gpus = Annotated[str | None, Query(max_length=100, description="GPUs of each task, to say how large a gang fits")]


def _shown(doors: NetworkService) -> dict[str, Any]:
    strangers = doors.strangers()
    return {
        "described": doors.topology != Topology(),
        "levels": [_level(level) for level in doors.levels()],
        "rules": [rule.model_dump(mode="json") for rule in doors.topology.rules],
        "links": len(doors.topology.links),
        "switches": len(doors.topology.switches),
        "strangers": len(strangers),
        "some_strangers": strangers[:MOST_STRANGERS],
        "definition": doors.topology.model_dump(mode="json", exclude_unset=True, by_alias=True),
    }


def _level(found: LevelState) -> dict[str, Any]:
    level = found.present.level
    return {
        "name": level.name,
        "label": level.key,
        "domains": found.domains,
        "outside": found.outside,
        "bandwidth": format_bandwidth(level.mbps),
        "latency": format_latency(level.latency_ns),
        "loss": level.loss,
    }


def _domain(use: DomainUse) -> dict[str, Any]:
    state = use.state
    return {
        "level": state.level,
        "name": state.name,
        "around": use.around,
        "nodes": state.nodes,
        "healthy": state.healthy,
        "whole_nodes": state.whole_nodes,
        "whole_gpus": state.whole_gpus,
        "gpu": {"capacity": state.capacity.get("gpu", 0) / 1000, "free": state.free.get("gpu", 0) / 1000},
        "free": {name: show_amount(name, amount) for name, amount in state.free.items()},
        "capacity": {name: show_amount(name, amount) for name, amount in state.capacity.items()},
        "up_mbps": use.up_mbps,
        "held_mbps": use.held_mbps,
        "free_mbps": use.free_mbps,
        "largest_gang": use.largest_gang,
    }


@router.get("/topology")
async def topology(request: Request) -> Response:
    """Which levels there are, widest first, and the topology as it was described. `strangers` are hosts of it that are
    no nodes."""
    return Json(_shown(plane_of(request).network))


@router.put("/topology", openapi_extra=takes(Topology))
async def set_topology(
    request: Request,
    of: Annotated[TopologyFormat | None, Query(alias="format", description="what the body is, if not ours")] = None,
) -> Response:
    """Describe the network anew: in our own format as JSON or YAML, or with `format` as the text of another."""
    plane = plane_of(request)
    if of in (None, TopologyFormat.YAML):
        described = await model_in(request, Topology)
    else:
        content = await content_in(request)
        described = await asyncio.to_thread(read_topology, content, SOURCE, of)
    await plane.network.set_topology(described)
    return Json(_shown(plane.network))


@router.delete("/topology", status_code=204)
async def forget_topology(request: Request) -> Response:
    """Go by the labels of nodes again."""
    await plane_of(request).network.set_topology(Topology())
    return Response(status_code=204)


@router.get("/topology/domains")
async def domains(request: Request, level: LevelName = None, gpus: Gpus = None) -> Response:
    """What each domain has and has left; with `gpus`, how many tasks of so many GPUs each it could take now."""
    task = None
    if gpus is not None:
        try:
            task = TaskRequest.model_validate({"gpu": gpus}).amounts()
        except ValueError as error:
            words = str(error.errors()[0]["msg"]) if hasattr(error, "errors") else str(error)
            raise Invalid([Complaint("query parameter", None, "gpus", words.removeprefix("Value error, "))]) from None
    return Json({"items": [_domain(use) for use in plane_of(request).network.domains(level, task)]})


# --- distances -----------------------------------------------------------------------------------------------


@router.get("/distances")
async def distances(
    request: Request,
    start: Annotated[NodeOf, Query(alias="from")] = None,
    end: Annotated[NodeOf, Query(alias="to")] = None,
    of: Annotated[str, Query(alias="format", pattern="^(json|csv)$")] = "json",
) -> Response:
    """All distances that were set by hand, as JSON or CSV; with `from` and `to`, how far those two are and why."""
    doors = plane_of(request).network
    if (start is None) != (end is None):
        raise Invalid([Complaint("query parameter", None, "to" if end is None else "from", "is missing")])
    if start is not None and end is not None:
        return Json(_apart(doors, start, end))
    if of == "csv":
        return Text(write_distances(doors.distances()), media_type="text/csv")
    return Json({"items": [{"from": a, "to": b, "distance": d} for a, b, d in doors.distances()]})


@router.put("/distances", openapi_extra=takes(NodeDistances))
async def set_distances(request: Request) -> Response:
    """Set distances between nodes, in both directions: `{"items": [{"from": "n1", "to": "n2", "distance": 25}]}`, or
    CSV with the header from,to,distance. Others stay as they are."""
    if is_csv(request):
        items = read_distances(decode(await content_in(request), SOURCE), SOURCE)
    else:
        items = (await model_in(request, NodeDistances)).items
    await plane_of(request).network.set_distances([(one.start, one.end, one.distance) for one in items])
    return Json({"set": len(items)})


@router.delete("/distances")
async def clear_distances(
    request: Request,
    start: Annotated[NodeOf, Query(alias="from")] = None,
    end: Annotated[NodeOf, Query(alias="to")] = None,
) -> Response:
    """Take back what was set: of two nodes with `from` and `to`, else all of it."""
    doors = plane_of(request).network
    if (start is None) != (end is None):
        raise Invalid([Complaint("query parameter", None, "to" if end is None else "from", "is missing")])
    if start is not None and end is not None:
        await doors.unset_distance(start, end)
        return Json({"cleared": 1})
    return Json({"cleared": await doors.clear_distances()})


def _apart(doors: NetworkService, start: str, end: str) -> dict[str, Any]:
    found = doors.apart(start, end)
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
