"""Routes of the network: levels, their domains, and distances between nodes, set by hand or derived."""

import asyncio
import time
from dataclasses import asdict
from typing import Annotated, cast

from fastapi import Query, Request
from pydantic import ValidationError

from dovetail.api.measured_network import measured_row, pair_asked
from dovetail.api.protocol.body import content_in, is_csv, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.reading import SOURCE
from dovetail.api.protocol.replies import Json, NoContent, PlainText
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.network_questions import DistanceSource, DomainUse, LevelState
from dovetail.model.network.distance_list import NodeDistances, read_distances, write_distances
from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.resources import ResourceRequest as TaskRequest
from dovetail.model.resources import show_amount
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import decode
from dovetail.model.text.quantity import format_bandwidth, format_latency
from dovetail.model.text.validation_errors import complaints_of
from dovetail.responses import ItemList
from dovetail.responses.network import (
    ClearedDistances,
    DistanceBetween,
    DomainRow,
    LevelRow,
    NodeDistance,
    PathBetween,
    SetDistances,
    TopologyAnswer,
)

router = Routes(tags=["network"])

LevelName = Annotated[str | None, Query(max_length=300, description="one level; left out, all of them, widest first")]
Gpus = Annotated[str | None, Query(max_length=100, description="GPUs of each task, to say how large a gang fits")]
NodeOf = Annotated[str | None, Query(max_length=300)]


class CsvText(PlainText):
    media_type = "text/csv"


def _shown(plane: ControlPlane) -> TopologyAnswer:
    network, strangers = plane.questions.network, plane.network.strangers()
    return {
        "described": network.topology != Topology(),
        "levels": [_level(level) for level in network.levels()],
        "rules": [rule.model_dump(mode="json") for rule in network.topology.rules],
        "links": len(network.topology.links),
        "switches": len(network.topology.switches),
        "strangers": len(strangers),
        "some_strangers": strangers,
        "definition": network.topology.model_dump(mode="json", exclude_unset=True, by_alias=True),
        "contradictions": [str(one) for one in plane.probe_board.contradictions],
    }


def _level(found: LevelState) -> LevelRow:
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


def _domain(use: DomainUse) -> DomainRow:
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
async def topology(request: Request) -> Json[TopologyAnswer]:
    """The levels, widest first, and the topology as it was described. `strangers` counts hosts in it that are not
    nodes."""
    return Json(_shown(plane_of(request)))


@router.put("/topology", openapi_extra=takes(Topology, text=("text/plain",)))
async def set_topology(
    request: Request,
    of: Annotated[
        TopologyFormat | None, Query(alias="format", description="the format of the body, if it is text")
    ] = None,
) -> Json[TopologyAnswer]:
    """Replace the description of the network: in our format as JSON or YAML, or with `format` as text in another."""
    plane = plane_of(request)
    if of in (None, TopologyFormat.YAML):
        described = await model_in(request, Topology)
    else:
        content = await content_in(request)
        described = await asyncio.to_thread(read_topology, content, SOURCE, of)
    await plane.network.set_topology(described)
    return Json(_shown(plane))


@router.delete("/topology")
async def forget_topology(request: Request) -> NoContent:
    """Remove the description; the labels of nodes say where they are."""
    await plane_of(request).network.set_topology(Topology())
    return NoContent()


@router.get("/topology/domains")
async def domains(request: Request, level: LevelName = None, gpus: Gpus = None) -> Json[ItemList[DomainRow]]:
    """Capacity of each domain and what is free; with `gpus`, how many tasks of so many GPUs each it could take now."""
    task = None
    if gpus is not None:
        try:
            task = TaskRequest.model_validate({"gpu": gpus}).amounts()
        except ValidationError as error:
            words = complaints_of(error, TaskRequest)[0].message
            raise Invalid([Complaint("query parameter", None, "gpus", words)]) from None
    return Json({"items": [_domain(use) for use in plane_of(request).network.domains(level, task)]})


@router.get("/distances")
async def distances(
    request: Request,
    start: Annotated[NodeOf, Query(alias="from")] = None,
    end: Annotated[NodeOf, Query(alias="to")] = None,
    of: Annotated[str, Query(alias="format", pattern="^(json|csv)$")] = "json",
) -> Json[ItemList[NodeDistance]] | Json[DistanceBetween] | CsvText:
    """The distances that were set by hand, as JSON or CSV; with `from` and `to`, how far these nodes are and why."""
    plane, pair = plane_of(request), pair_asked(start, end)
    if pair is not None:
        return Json(_apart(plane, *pair))
    found = plane.questions.network.set_distances
    if of == "csv":
        return CsvText(write_distances(found))
    items: list[NodeDistance] = [{"from": a, "to": b, "distance": d} for a, b, d in found]
    return Json(ItemList(items=items))


@router.put("/distances", openapi_extra=takes(NodeDistances, text=("text/csv",)))
async def set_distances(request: Request) -> Json[SetDistances]:
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
) -> Json[ClearedDistances]:
    """Clear the distance between two nodes with `from` and `to`, otherwise all that were set."""
    network, pair = plane_of(request).network, pair_asked(start, end)
    if pair is None:
        return Json({"cleared": await network.clear_distances()})
    await network.unset_distance(*pair)
    return Json({"cleared": 1})


def _apart(plane: ControlPlane, start: str, end: str) -> DistanceBetween:
    found, known = plane.network.apart(start, end), plane.probe_board.between(start, end)
    path = found.path if start != end else None
    measured = None if known is None or start == end else measured_row(known, time.time())
    is_measured = measured is not None and found.source is DistanceSource.MEASURED
    return {
        "from": start,
        "to": end,
        "distance": round(found.distance, 3),
        "by_hand": found.by_hand,
        "source": measured["source"] if measured is not None and is_measured else str(found.source),
        "level": found.level,
        "path": None if path is None else cast("PathBetween", asdict(path)),
        "measured": measured,
    }
