"""Routes of the topology: the levels of the network and the domains of each level."""

import asyncio
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import SOURCE, content_in, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json, NoContent
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.network_questions import DomainUse, LevelState
from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.resources import ResourceRequest as TaskRequest
from dovetail.model.resources import show_amount
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.quantity import format_bandwidth, format_latency
from dovetail.responses import ItemList
from dovetail.responses.network import DomainRow, LevelRow, TopologyAnswer

router = Routes(tags=["network"])

MOST_STRANGERS = 20
LevelName = Annotated[str | None, Query(max_length=300, description="one level; left out, all of them, widest first")]
Gpus = Annotated[str | None, Query(max_length=100, description="GPUs of each task, to say how large a gang fits")]


def _shown(plane: ControlPlane) -> TopologyAnswer:
    network, strangers = plane.questions.network, plane.network.strangers()
    return {
        "described": network.topology != Topology(),
        "levels": [_level(level) for level in network.levels()],
        "rules": [rule.model_dump(mode="json") for rule in network.topology.rules],
        "links": len(network.topology.links),
        "switches": len(network.topology.switches),
        "strangers": len(strangers),
        "some_strangers": strangers[:MOST_STRANGERS],
        "definition": network.topology.model_dump(mode="json", exclude_unset=True, by_alias=True),
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
        except ValueError as error:
            words = str(error.errors()[0]["msg"]) if hasattr(error, "errors") else str(error)
            raise Invalid([Complaint("query parameter", None, "gpus", words.removeprefix("Value error, "))]) from None
    return Json({"items": [_domain(use) for use in plane_of(request).network.domains(level, task)]})
