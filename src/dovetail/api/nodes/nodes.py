"""Routes of nodes: register, inspect, label and taint, cordon and drain."""

import asyncio
from typing import Annotated, cast

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.nodes.amounts import resources_of
from dovetail.api.nodes.diagnostics import node_in_words
from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.parameters import Reason
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent, PlainText
from dovetail.control.errors import NotFound
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.node_questions import NodeUse
from dovetail.model.node import Node
from dovetail.model.text.strict import Strict, closest
from dovetail.model.workloads.selection import LabelKey, LabelValue, Taint
from dovetail.responses import ItemList
from dovetail.responses.nodes import NodeDetail, NodeRow, NodeTask

router = Routes(prefix="/nodes", tags=["nodes"])

SLICE = 256  # nodes described before other requests get a turn
MOST_TO_COMPARE = 10_000  # names that are searched for one that was meant


class NodeChange(Strict):
    """A label that is null is removed. Taints, if given, replace all taints."""

    labels: Annotated[dict[LabelKey, LabelValue | None], Field(max_length=1000)] = {}
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None


class Why(Strict):
    reason: Reason = ""


def use_of(plane: ControlPlane, name: str) -> NodeUse:
    try:
        return plane.questions.nodes.use(name)
    except KeyError:
        names = sorted(plane.questions.nodes.names)
        near = closest(name, names) if len(names) < MOST_TO_COMPARE else ""
        raise NotFound(f"no node {name[:100]!r}.{near} GET /api/v1/nodes lists them") from None


def _row(use: NodeUse) -> NodeRow:
    return {
        "name": use.name,
        "backend": use.backend,
        "status": use.status,
        "reason": use.reason,
        "online": use.online,
        "cordoned": use.cordoned,
        "drained": use.drained,
        "labels": use.labels,
        "taints": use.taints,
        "load": round(use.load, 4),
        "tasks": use.tasks,
        "resources": resources_of(use),
    }


def _detail(plane: ControlPlane, name: str) -> NodeDetail:
    return {
        **_row(use_of(plane, name)),
        "definition": plane.questions.nodes.definition(name).model_dump(mode="json"),
        "gpus": [
            {
                "slot": gpu.slot,
                "model": gpu.device.model,
                "memory": gpu.device.memory,
                "island": gpu.device.island,
                "numa": gpu.device.numa,
                "address": gpu.device.address,
                "uuid": gpu.device.uuid,
                "used": gpu.used,
            }
            for gpu in plane.questions.nodes.gpus(name)
        ],
    }


@router.get("")
async def nodes(request: Request) -> Json[ItemList[NodeRow]]:
    """All nodes by name, with what is in use on each."""
    questions = plane_of(request).questions
    rows: list[NodeRow] = []
    for number, name in enumerate(sorted(questions.nodes.names)):
        if number % SLICE == SLICE - 1:
            await asyncio.sleep(0)
        if name in questions.nodes:  # it may have been removed meanwhile
            rows.append(_row(questions.nodes.use(name)))
    return Json({"items": rows})


@router.post("", openapi_extra=takes(Node))
async def register(request: Request) -> Json[NodeDetail] | CreatedJson[NodeDetail]:
    """Register a node whose agent fetches work with heartbeats (201), or change what is known about it (200)."""
    node = (await model_in(request, Node)).model_copy(update={"backend": "registered"})
    plane = plane_of(request)
    known = node.name in plane.questions.nodes
    await plane.nodes.register(node)
    detail = _detail(plane, node.name)
    return Json(detail) if known else CreatedJson(detail)


@router.get("/{name}")
async def node(request: Request, name: str) -> Json[NodeDetail]:
    return Json(_detail(plane_of(request), name))


@router.delete("/{name}")
async def remove(request: Request, name: str, reason: Annotated[str, Query(max_length=500)] = "removed") -> NoContent:
    """Remove a node for good. Its tasks wait for another node."""
    await plane_of(request).nodes.remove(name, reason)
    return NoContent()


@router.patch("/{name}", openapi_extra=takes(NodeChange))
async def change(request: Request, name: str) -> Json[NodeDetail]:
    wanted = await model_in(request, NodeChange)
    plane = plane_of(request)
    await plane.nodes.patch(name, dict(wanted.labels), wanted.taints)
    return Json(_detail(plane, name))


@router.post("/{name}/cordon", openapi_extra=takes(Why, required=False))
async def cordon(request: Request, name: str) -> Json[NodeDetail]:
    """Let it take no new work. Its tasks keep running."""
    why = await model_in(request, Why)
    plane = plane_of(request)
    await plane.nodes.cordon(name, True, why.reason)
    return Json(_detail(plane, name))


@router.post("/{name}/uncordon", openapi_extra=takes(Why, required=False))
async def uncordon(request: Request, name: str) -> Json[NodeDetail]:
    """Let it take work again. This also ends a drain."""
    why = await model_in(request, Why)
    plane = plane_of(request)
    await plane.nodes.cordon(name, False, why.reason)
    return Json(_detail(plane, name))


@router.post("/{name}/drain", openapi_extra=takes(Why, required=False))
async def drain(request: Request, name: str) -> Json[NodeDetail]:
    """Cordon it and move its tasks to other nodes."""
    why = await model_in(request, Why)
    plane = plane_of(request)
    await plane.nodes.drain(name, why.reason)
    return Json(_detail(plane, name))


@router.get("/{name}/diagnostics")
async def diagnostics(request: Request, name: str) -> PlainText:
    """The node described in text, one fact a line."""
    plane = plane_of(request)
    return PlainText(node_in_words(use_of(plane, name), plane.questions.nodes.gpus(name)))


@router.get("/{name}/tasks")
async def tasks(request: Request, name: str) -> Json[ItemList[NodeTask]]:
    """The tasks that hold capacity there."""
    plane = plane_of(request)
    use_of(plane, name)
    return Json({"items": cast("list[NodeTask]", await plane.read(plane.store.node_tasks, name))})
